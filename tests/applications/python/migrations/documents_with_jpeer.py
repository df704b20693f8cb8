"""Tika by jpeer: documents_with_jpype.py after its migration.

Changes:
- `startJVM` is `jpeer.launch`, imports of Java classes begin with `jpeer.`, `@JImplements` is `@jpeer.implements`, and
`@JOverride` is removed.
- `JArray(JByte)(content)`, `JString` and `JInt` are removed: bytes, str and int become the declared types. Texts from
Java are str, without Java's methods: `String.getBytes("text", charset)` replaces `JString("text").getBytes(charset)`.
- A Python path is accepted as a Path or a File, and objects that Java can close are context managers.
- `AutoDetectParser()` calls the constructor without parameters, as in Java.
- An exception of a Python class comes back as the same object, here as the cause of Tika's exception.
"""

import io
import os
import tempfile
import zipfile
from pathlib import Path

import jpeer

# Both logging libraries lack an implementation, and would print a warning to stdout.
QUIET = "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory"
java = jpeer.launch(classpath=os.environ["JARS"], jvm_options=["-Xmx512m", "-Djava.awt.headless=true", QUIET])

from jpeer.java.io import ByteArrayInputStream  # noqa: E402
from jpeer.java.lang import String  # noqa: E402
from jpeer.java.nio.charset import StandardCharsets  # noqa: E402
from jpeer.org.apache.tika import Tika  # noqa: E402
from jpeer.org.apache.tika.exception import TikaException, WriteLimitReachedException, ZeroByteFileException  # noqa: E402
from jpeer.org.apache.tika.extractor import EmbeddedDocumentExtractor  # noqa: E402
from jpeer.org.apache.tika.metadata import Metadata, TikaCoreProperties  # noqa: E402
from jpeer.org.apache.tika.parser import AutoDetectParser, ParseContext  # noqa: E402
from jpeer.org.apache.tika.sax import BodyContentHandler, ToXMLContentHandler  # noqa: E402

HTML = """<html lang="de"><head><title>Größen</title><meta name="author" content="Ada Lovelace"></head>
<body><h1>Überschrift</h1><p>Ein Satz &amp; <a href="https://example.org/a">ein Link</a>.</p><ul><li>eins</li><li>zwei \U0001F600</li></ul></body></html>"""
CSV = "name,amount\n" + "".join(f"Grace {number},{number * 7}\n" for number in range(60))
PDF_TEXT = b"BT /F1 24 Tf 72 700 Td (A page of text) Tj ET"


def make_pdf():
    """A document of one page, written by hand."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
               b"<< /Length %d >>\nstream\n%s\nendstream" % (len(PDF_TEXT), PDF_TEXT),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", b"<< /Title (By hand) /Author (Nobody) >>"]
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % each for each in places)
    return made + b"xref\n0 7\n0000000000 65535 f \n%strailer\n<< /Size 7 /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        table, len(made))


def make_zip(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 2, 3, 4, 6)), content)
    return file.getvalue()


def make_docx():
    kinds = "application/vnd.openxmlformats-"
    part = f'<Override PartName="/word/document.xml" ContentType="{kinds}officedocument.wordprocessingml.document.main+xml"/>'
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    package = "http://schemas.openxmlformats.org/package/2006"
    return make_zip({
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
                               f'ContentType="{kinds}package.relationships+xml"/>{part}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" Type="{relation}" '
                       'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>Words of a document</w:t></w:r></w:p>'
                             "</w:body></w:document>",
    })


DOCUMENTS = {"page.html": HTML.encode(), "table.csv": CSV.encode(), "page.pdf": make_pdf(), "words.docx": make_docx()}
ARCHIVE = make_zip(DOCUMENTS)


def parse(content, handler=None, name=None, context=None):
    metadata = Metadata()
    if name is not None:
        metadata.set(TikaCoreProperties.RESOURCE_NAME_KEY, name)
    handler = BodyContentHandler() if handler is None else handler
    with ByteArrayInputStream(content) as stream:
        AutoDetectParser().parse(stream, handler, metadata, ParseContext() if context is None else context)
    return handler, {each: list(metadata.getValues(each)) for each in metadata.names()}


def extract():
    for name, wanted in [("page.html", "Überschrift"), ("table.csv", "Grace"), ("page.pdf", "A page of text"),
                         ("words.docx", "Words of a document")]:
        handler, metadata = parse(DOCUMENTS[name], name=name)
        text = " ".join(str(handler).split())
        assert wanted in text, text
        print(name, text[:60], metadata["Content-Type"])
    handler, metadata = parse(HTML.encode())
    assert "zwei \U0001F600" in str(handler)
    assert metadata["dc:title"] == ["Größen"] and metadata["author"] == ["Ada Lovelace"], metadata
    print(sorted(metadata))


def detect():
    tika = Tika()
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, content in [*DOCUMENTS.items(), ("archive.zip", ARCHIVE)]:
            path = Path(folder, name)
            path.write_bytes(content)
            found[name] = tika.detect(path)
            assert found[name] == tika.detect(content, name)
        text = tika.parseToString(Path(folder, "page.pdf"))
    assert text.strip() == "A page of text", text
    print(found, tika.detect("photo.jpeg"))


@jpeer.implements("org.xml.sax.ContentHandler")
class Outline:
    """The events that Tika sends."""

    def __init__(self):
        self.opened = []
        self.links = []
        self.text = ""
        self.is_ended = False

    def setDocumentLocator(self, locator):
        pass

    def startDocument(self):
        assert not self.opened

    def endDocument(self):
        self.is_ended = True

    def startElement(self, uri, localName, qName, attributes):
        self.opened.append(localName)
        for index in range(attributes.getLength()):
            if attributes.getLocalName(index) == "href":
                self.links.append(attributes.getValue(index))

    def endElement(self, uri, localName, qName):
        pass

    def characters(self, ch, start, length):
        self.text += String.valueOf(ch, start, length)

    def ignorableWhitespace(self, ch, start, length):
        pass

    def startPrefixMapping(self, prefix, uri):
        pass

    def endPrefixMapping(self, prefix):
        pass

    def processingInstruction(self, target, data):
        pass

    def skippedEntity(self, name):
        pass


def follow_events():
    outline, _ = parse(HTML.encode(), handler=Outline())
    assert outline.is_ended and outline.links == ["https://example.org/a"], outline.links
    assert [each for each in outline.opened if each in ("h1", "li", "p")] == ["h1", "p", "li", "li"], outline.opened
    assert "".join(outline.text.split()) == "GrößenÜberschriftEinSatz&einLink.einszwei\U0001F600", outline.text
    print(outline.opened)
    handler, _ = parse(CSV.encode(), handler=ToXMLContentHandler(), name="table.csv")
    assert str(handler).count("<td>") == 2 * 61


@jpeer.implements(EmbeddedDocumentExtractor)
class Members:
    """Handles the files of an archive in place of Tika."""

    def __init__(self):
        self.found = {}

    def shouldParseEmbedded(self, metadata):
        return not metadata.get(TikaCoreProperties.RESOURCE_NAME_KEY).endswith(".csv")

    def parseEmbedded(self, stream, handler, metadata, outputHtml):
        self.found[metadata.get(TikaCoreProperties.RESOURCE_NAME_KEY)] = bytes(stream.readAllBytes())


def unpack():
    members = Members()
    context = ParseContext()
    context.set(EmbeddedDocumentExtractor, members)
    parse(ARCHIVE, context=context)
    wanted = {name: content for name, content in DOCUMENTS.items() if not name.endswith(".csv")}
    assert members.found == wanted, members.found.keys()
    print({name: len(content) for name, content in members.found.items()})


def fail():
    try:
        parse(b"")
    except ZeroByteFileException as error:
        print("refused:", error.getMessage())
    else:
        raise AssertionError("there is nothing to parse")
    limited = BodyContentHandler(10)
    try:
        parse(HTML.encode(), handler=limited)
    except WriteLimitReachedException:
        pass
    else:
        raise AssertionError("the text is longer than 10 characters")
    assert len(str(limited)) <= 10

    @jpeer.implements("org.apache.tika.extractor.EmbeddedDocumentExtractor")
    class Broken:
        def shouldParseEmbedded(self, metadata):
            raise LookupError("no member is wanted")

        def parseEmbedded(self, stream, handler, metadata, outputHtml):
            raise AssertionError("it was not asked for")

    context = ParseContext()
    context.set(EmbeddedDocumentExtractor, Broken())
    try:
        parse(ARCHIVE, context=context)
    except TikaException as error:
        assert isinstance(error.__cause__, LookupError) and str(error.__cause__) == "no member is wanted", error.__cause__
    else:
        raise AssertionError("the extractor fails")


for step in (extract, detect, follow_events, unpack, fail):
    step()
encoded = String.getBytes("Größe", StandardCharsets.UTF_16BE)
assert bytes(encoded) == "Größe".encode("utf-16-be")
print("Tika: 4 kinds of documents and an archive, 5 parts")
java.close()
