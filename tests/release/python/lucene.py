import os

import jpeer

with jpeer.launch(classpath=os.environ["JARS"]) as java:
    lucene = java.org.apache.lucene
    Document, TextField = lucene.document.Document, lucene.document.TextField
    directory = lucene.store.ByteBuffersDirectory()
    analyzer = lucene.analysis.standard.StandardAnalyzer()
    with lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer)) as writer:
        for number in range(1000):
            words = f"document {number} about {'lucene ' * (number % 13)}and {'java ' * (number % 7)}"
            document = Document()
            document.add(TextField("body", words, TextField.Store.YES))
            writer.addDocument(document)
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    query = lucene.queryparser.classic.QueryParser("body", analyzer).parse("lucene AND java")
    for hit in searcher.search(query, 10).scoreDocs:
        print(searcher.storedFields().document(hit.doc).get("body"))
