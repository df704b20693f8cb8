"""Tika by JPype: documents of several kinds to text, metadata and events. documents_with_jpeer.py is the same program
by jpeer."""

import io
import os
import tempfile
import zipfile
from pathlib import Path

import jpype
import jpype.imports
from jpype.types import JArray, JByte, JClass, JInt, JString

# Both logging libraries lack an implementation, and would print a warning to stdout.
QUIET = "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory"
jpype.startJVM("-Xmx512m", "-Djava.awt.headless=true", QUIET, classpath=os.environ["JARS"].split(":"))

from java.io import ByteArrayInputStream  # noqa: E402
from java.nio.charset import StandardCharsets  # noqa: E402
from org.apache.tika import Tika  # noqa: E402
from org.apache.tika.config import TikaConfig  # noqa: E402
from org.apache.tika.exception import TikaException, WriteLimitReachedException, ZeroByteFileException  # noqa: E402
from org.apache.tika.extractor import EmbeddedDocumentExtractor  # noqa: E402
from org.apache.tika.metadata import Metadata, TikaCoreProperties  # noqa: E402
from org.apache.tika.parser import AutoDetectParser, ParseContext  # noqa: E402
from org.apache.tika.sax import BodyContentHandler, ToXMLContentHandler  # noqa: E402

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
BYTES = JArray(JByte)


def parse(content, handler=None, name=None, context=None):
    metadata = Metadata()
    if name is not None:
        metadata.set(TikaCoreProperties.RESOURCE_NAME_KEY, JString(name))
    handler = BodyContentHandler() if handler is None else handler
    stream = ByteArrayInputStream(BYTES(content))
    try:
        # Without an argument JPype calls the constructor with variable arguments, and the parser has no parsers.
        AutoDetectParser(TikaConfig.getDefaultConfig()).parse(stream, handler, metadata, ParseContext() if context is None else context)
    finally:
        stream.close()
    return handler, {str(each): [str(value) for value in metadata.getValues(each)] for each in metadata.names()}


def extract():
    for name, wanted in [("page.html", "Überschrift"), ("table.csv", "Grace"), ("page.pdf", "A page of text"),
                         ("words.docx", "Words of a document")]:
        handler, metadata = parse(DOCUMENTS[name], name=name)
        text = " ".join(str(handler.toString()).split())
        assert wanted in text, text
        print(name, text[:60], metadata["Content-Type"])
    handler, metadata = parse(HTML.encode())
    assert "zwei \U0001F600" in str(handler.toString())
    assert metadata["dc:title"] == ["Größen"] and metadata["author"] == ["Ada Lovelace"], metadata
    print(sorted(metadata))


def detect():
    tika = Tika()
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, content in [*DOCUMENTS.items(), ("archive.zip", ARCHIVE)]:
            path = Path(folder, name)
            path.write_bytes(content)
            by_file = str(tika.detect(JClass("java.io.File")(str(path))))
            assert by_file == str(tika.detect(BYTES(content), JString(name)))
            found[name] = by_file
        text = str(tika.parseToString(JClass("java.nio.file.Path").of(str(Path(folder, "page.pdf")))))
    assert text.strip() == "A page of text", text
    print(found, tika.detect("photo.jpeg"))


@jpype.JImplements("org.xml.sax.ContentHandler")
class Outline:
    """The events that Tika sends."""

    def __init__(self):
        self.opened = []
        self.links = []
        self.text = ""
        self.is_ended = False

    @jpype.JOverride
    def setDocumentLocator(self, locator):
        pass

    @jpype.JOverride
    def startDocument(self):
        assert not self.opened

    @jpype.JOverride
    def endDocument(self):
        self.is_ended = True

    @jpype.JOverride
    def startElement(self, uri, localName, qName, attributes):
        self.opened.append(str(localName))
        for index in range(attributes.getLength()):
            if attributes.getLocalName(JInt(index)) == "href":
                self.links.append(str(attributes.getValue(JInt(index))))

    @jpype.JOverride
    def endElement(self, uri, localName, qName):
        pass

    @jpype.JOverride
    def characters(self, ch, start, length):
        self.text += str(JClass("java.lang.String")(ch, start, length))

    @jpype.JOverride
    def ignorableWhitespace(self, ch, start, length):
        pass

    @jpype.JOverride
    def startPrefixMapping(self, prefix, uri):
        pass

    @jpype.JOverride
    def endPrefixMapping(self, prefix):
        pass

    @jpype.JOverride
    def processingInstruction(self, target, data):
        pass

    @jpype.JOverride
    def skippedEntity(self, name):
        pass


def follow_events():
    outline, _ = parse(HTML.encode(), handler=Outline())
    assert outline.is_ended and outline.links == ["https://example.org/a"], outline.links
    assert [each for each in outline.opened if each in ("h1", "li", "p")] == ["h1", "p", "li", "li"], outline.opened
    assert "".join(outline.text.split()) == "GrößenÜberschriftEinSatz&einLink.einszwei\U0001F600", outline.text
    print(outline.opened)
    handler, _ = parse(CSV.encode(), handler=ToXMLContentHandler(), name="table.csv")
    assert str(handler.toString()).count("<td>") == 2 * 61


@jpype.JImplements(EmbeddedDocumentExtractor)
class Members:
    """Handles the files of an archive in place of Tika."""

    def __init__(self):
        self.found = {}

    @jpype.JOverride
    def shouldParseEmbedded(self, metadata):
        return not str(metadata.get(TikaCoreProperties.RESOURCE_NAME_KEY)).endswith(".csv")

    @jpype.JOverride
    def parseEmbedded(self, stream, handler, metadata, outputHtml):
        self.found[str(metadata.get(TikaCoreProperties.RESOURCE_NAME_KEY))] = bytes(stream.readAllBytes())


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
        print("refused:", str(error.getMessage()))
    else:
        raise AssertionError("there is nothing to parse")
    limited = BodyContentHandler(JInt(10))
    try:
        parse(HTML.encode(), handler=limited)
    except WriteLimitReachedException:
        pass
    else:
        raise AssertionError("the text is longer than 10 characters")
    assert len(str(limited.toString())) <= 10

    @jpype.JImplements("org.apache.tika.extractor.EmbeddedDocumentExtractor")
    class Broken:
        @jpype.JOverride
        def shouldParseEmbedded(self, metadata):
            raise LookupError("no member is wanted")

        @jpype.JOverride
        def parseEmbedded(self, stream, handler, metadata, outputHtml):
            raise AssertionError("it was not asked for")

    context = ParseContext()
    context.set(EmbeddedDocumentExtractor, Broken())
    try:
        parse(ARCHIVE, context=context)
    except TikaException as error:
        assert str(error.getCause()) == "org.jpype.PyExceptionProxy", error.getCause()
    else:
        raise AssertionError("the extractor fails")


for step in (extract, detect, follow_events, unpack, fail):
    step()
encoded = JClass("java.lang.String")("Größe").getBytes(StandardCharsets.UTF_16BE)
assert bytes(encoded) == "Größe".encode("utf-16-be")
print("Tika: 4 kinds of documents and an archive, 5 parts")
jpype.shutdownJVM()
