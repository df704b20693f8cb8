"""The presets through the binary, on each JDK: what ran in spite of them is denied."""

import base64
import subprocess
from pathlib import Path

from support.clients import RpcError, WebSocketClient, ref, typed
from support.peer import Peer
from support.peer_case import PeerCase, on_each_jdk

PRESETS = ("deny-unsafe", "deny-jdk-internals", "deny-classloading", "deny-reflection", "deny-serialization",
           "deny-scripting", "deny-nonpublic", "deny-files")
# What another preset denies must not hide that its own does not.
WITHOUT_FILES = tuple(preset for preset in PRESETS if preset != "deny-files")
# Objects of the JDK are often of internal classes, and a preset must not lean on that.
WITHOUT_INTERNALS = tuple(preset for preset in WITHOUT_FILES if preset != "deny-jdk-internals")
LOUD = "fixtures.LoudInitializer"  # prints when a class loader has let it be initialised
LOUD_BUNDLE = "fixtures.LoudBundle"  # likewise


def text(value):
    return typed("String", value)


def objects(*values):
    return typed("Object[]", list(values))


def given(type_name, value):
    """A ref as an argument of that type, or null."""
    return typed(type_name, None) if value is None else {"type": type_name, **ref(value)}


class Attacks:
    """One method an attack; each ends with the step that ran once, or with what came of it. What has a row of its own in
    tests/unit/policy/presets/denied.txt is not here, unless it needs an object of an internal class, or more steps.
    """

    def __init__(self, client, child, folder):
        self.client, self.call, self.new, self.get = client, client.call, client.new, client.get
        self.child, self.marker = child, Path(folder) / "marker"

    def stream(self, content):
        encoded = base64.b64encode(content.encode()).decode()
        return ref(self.new("java.io.ByteArrayInputStream", {"type": "byte[]", "value": encoded, "encoding": "base64"}))

    def beans_server(self):
        return self.call("java.lang.management.ManagementFactory", "getPlatformMBeanServer")

    # -- what calls by name for others

    def expression(self):
        runtime = self.call("java.lang.Runtime", "getRuntime")
        command = objects(text(f"touch {self.marker}"))
        expression = self.new("java.beans.Expression", ref(runtime), text("exec"), command)
        self.call("java.beans.Expression", "getValue", on=expression)

    def bean_operation(self):
        name = self.new("javax.management.ObjectName", text("java.lang:type=Memory"))
        self.call("javax.management.MBeanServer", "invoke", ref(name), text("gc"), None, None, on=self.beans_server())

    def standard_bean(self):
        bean = "javax.management.StandardMBean"
        made = self.new(bean, ref(self.call("java.lang.ProcessHandle", "current")),
                        typed("Class", "java.lang.ProcessHandle"))
        self.call(bean, "invoke", text("pid"), objects(), typed("String[]", []), on=made)

    def model_bean(self):
        self.new("javax.management.modelmbean.RequiredModelMBean")

    def remote_beans(self):
        url = self.new("javax.management.remote.JMXServiceURL", text("service:jmx:rmi://127.0.0.1"))
        self.call("javax.management.remote.JMXConnectorServerFactory", "newJMXConnectorServer", ref(url), None,
                  ref(self.beans_server()))

    # -- what loads the class that a text names

    def flavor_of_a_native(self):
        flavors = "java.awt.datatransfer.SystemFlavorMap"
        self.call(flavors, "getFlavorsForNative",
                  text(f"JAVA_DATAFLAVOR:application/x-java-serialized-object; class={LOUD}"),
                  on=self.call(flavors, "getDefaultFlavorMap"))

    def logging(self):
        manager = self.call("java.util.logging.LogManager", "getLogManager")
        self.call("java.util.logging.LogManager", "readConfiguration", self.stream(f"config={LOUD}\n"), on=manager)

    def compiler(self):
        compiler = self.call("javax.tools.ToolProvider", "getSystemJavaCompiler")
        self.call("javax.tools.Tool", "run", None, None, None, typed("String[]", ["-version"]), on=compiler)

    def tool(self):
        found = self.call("java.util.spi.ToolProvider", "findFirst", text("javac"))
        self.call("java.util.Optional", "get", on=found)

    def bundle_of_a_subclass(self):
        self.call("java.util.ListResourceBundle", "getBundle", text(LOUD_BUNDLE))

    def logger_with_a_bundle(self):
        self.call("java.util.logging.Logger", "getLogger", text("loud"), text(LOUD_BUNDLE))

    def bundle_of_a_record(self):
        logger = self.call("java.util.logging.LogManager", "getLogger", text("global"),
                           on=self.call("java.util.logging.LogManager", "getLogManager"))
        level = self.get("java.util.logging.Level", "SEVERE")
        self.call("java.util.logging.Logger", "logrb", ref(level), text("a"), text("b"), text(LOUD_BUNDLE), text("x"),
                  on=logger)

    def services(self):
        self.call("java.util.ServiceLoader", "load", typed("Class", "java.lang.Runnable"))

    def installed_services(self):
        self.call("java.util.ServiceLoader", "loadInstalled", typed("Class", "java.lang.Runnable"))

    # -- what reads serialised objects

    def marshalled(self):
        made = self.new("java.rmi.MarshalledObject", text("x"))
        self.call("java.rmi.MarshalledObject", "get", on=made)

    def registry(self):
        self.call("java.rmi.registry.LocateRegistry", "createRegistry", typed("int", 0))

    def naming(self):
        self.call("javax.naming.InitialContext", "doLookup", text("rmi://127.0.0.1:9/x"))

    # -- code as text, native code, and ends

    def native_provider(self):
        provider = self.call("java.security.Security", "getProvider", text("SunPKCS11"))
        self.call("java.security.Provider", "configure", text("--name=x\nlibrary=/nowhere/x.so\n"), on=provider)

    def other_process(self):
        found = self.call("java.lang.ProcessHandle", "of", typed("long", str(self.child.pid)))
        handle = self.call("java.util.Optional", "get", on=found)
        self.call("java.lang.ProcessHandle", "destroyForcibly", on=handle)


# Each names PATH, a file in the peer's folder, or the folder itself.
FILES = {
    "print stream": lambda c, path: c.new("java.io.PrintStream", text(path)),
    "writer": lambda c, path: c.new("java.io.FileWriter", text(path)),
    "creation": lambda c, path: c.call("java.io.File", "createNewFile", on=c.new("java.io.File", text(path))),
    "removal": lambda c, path: c.call("java.io.File", "delete", on=c.new("java.io.File", text(path))),
    "temporary file": lambda c, path: c.call("java.io.File", "createTempFile", text("abc"), text("d")),
    "files": lambda c, path: c.call("java.nio.file.Files", "writeString", ref(path_of(c, path)), text("x"),
                                    typed("java.nio.file.OpenOption[]", [])),
    "real path": lambda c, path: c.call("java.nio.file.Path", "toRealPath", typed("java.nio.file.LinkOption[]", []),
                                        on=path_of(c, path)),
    "real path of the implementation": lambda c, path: c.call(
        "sun.nio.fs.UnixPath", "toRealPath", typed("java.nio.file.LinkOption[]", []), on=path_of(c, path)),
    "provider": lambda c, path: c.call(
        "java.nio.file.spi.FileSystemProvider", "delete", ref(path_of(c, path)),
        on=c.call("java.nio.file.FileSystem", "provider", on=c.call("java.nio.file.FileSystems", "getDefault"))),
    "channel": lambda c, path: c.call("java.nio.channels.FileChannel", "open", ref(path_of(c, path)),
                                      typed("java.nio.file.OpenOption[]", [])),
    "address": lambda c, path: c.call("java.net.URL", "openStream", on=c.new("java.net.URL", text("file:" + path))),
    "document": lambda c, path: c.call(
        "javax.xml.parsers.DocumentBuilder", "parse", text("file:" + path),
        on=c.call("javax.xml.parsers.DocumentBuilderFactory", "newDocumentBuilder",
                  on=c.call("javax.xml.parsers.DocumentBuilderFactory", "newInstance"))),
    "resource": lambda c, path: c.call("java.lang.ClassLoader", "getSystemResourceAsStream", text("marker")),
    "process": lambda c, path: c.call("java.lang.Runtime", "exec", text("touch " + path),
                                      on=c.call("java.lang.Runtime", "getRuntime")),
    "address of a path": lambda c, path: c.call("java.nio.file.Path", "toUri", on=path_of(c, path)),
    "property that names a file": lambda c, path: c.call("java.lang.System", "setProperty",
                                                         text("javax.net.ssl.trustStore"), text(path)),
    "signature": lambda c, path: sign(c, "file:" + path),
    "signature by the implementation": lambda c, path: c.new("org.jcp.xml.dsig.internal.dom.DOMXMLSignatureFactory"),
    "style sheet of a document": lambda c, path: associated_style_sheet(c, "file:" + path),
    "settings of a log-in": lambda c, path: c.call(
        "javax.security.auth.login.Configuration", "getInstance", text("JavaLoginConfig"), uri_parameter(c, path)),
    "policy of a file": lambda c, path: c.call("java.security.Policy", "getInstance", text("JavaPolicy"),
                                               uri_parameter(c, path)),
    "document type": lambda c, path: normalize(c, "http://www.w3.org/TR/REC-xml", "file:" + path, None),
    "schema": lambda c, path: normalize(c, "http://www.w3.org/2001/XMLSchema", None, "file:" + path),
    "style rule": lambda c, path: c.call(STYLES, "addRule", text(f"@import url(file:{path});"), on=c.new(STYLES)),
    "style rules": lambda c, path: c.call(
        STYLES, "loadRules", given("java.io.Reader", reader(c, f"@import url(file:{path});")),
        given("java.net.URL", None), on=c.new(STYLES)),
    "label": lambda c, path: c.new("javax.swing.JLabel", text(linking(path))),
    "button": lambda c, path: c.new("javax.swing.JButton", text(linking(path))),
    "tool tip": lambda c, path: c.call("javax.swing.JToolTip", "setTipText", text(linking(path)),
                                       on=c.new("javax.swing.JToolTip")),
    "border": lambda c, path: c.call(
        "javax.swing.border.TitledBorder", "getMinimumSize", given("java.awt.Component", c.new("java.awt.Container")),
        on=c.new("javax.swing.border.TitledBorder", text(linking(path)))),
    "list of revoked certificates": lambda c, path: c.call(
        "java.security.cert.CertPathValidator", "getRevocationChecker",
        on=c.call("java.security.cert.CertPathValidator", "getInstance", text("PKIX"))),
    "file of hosts": lambda c, path: c.new("java.net.InetAddress$HostsFileNameService", text(path)),
    "file of hosts in newer JDKs": lambda c, path: c.new("java.net.InetAddress$HostsFileResolver", text(path)),
    "place of a print": lambda c, path: c.new("javax.print.attribute.standard.Destination",
                                              given("java.net.URI", uri(c, path))),
    "operation of a bean": lambda c, path: c.call(
        "javax.management.MBeanServer", "invoke",
        ref(c.new("javax.management.ObjectName", text("com.sun.management:type=HotSpotDiagnostic"))),
        text("dumpHeap"), objects(text(path + ".hprof"), typed("Boolean", True)),
        typed("String[]", ["java.lang.String", "boolean"]),
        on=c.call("java.lang.management.ManagementFactory", "getPlatformMBeanServer")),
}
STYLES = "javax.swing.text.html.StyleSheet"


def path_of(client, path):
    return client.call("java.nio.file.Path", "of", text(path), typed("String[]", []))


def uri(client, path):
    return client.call("java.net.URI", "create", text("file:" + path))


def uri_parameter(client, path):
    return given("java.security.URIParameter", client.new("java.security.URIParameter", ref(uri(client, path))))


def reader(client, content):
    return client.new("java.io.StringReader", text(content))


def linking(path):
    """HTML that names a style sheet and an image."""
    return f'<html><link rel="stylesheet" href="file:{path}"><img src="file:{path}">'


def sign(client, name):
    """What a signature is made of is read, and can be asked for afterwards."""
    dsig = "javax.xml.crypto.dsig."
    factory = dsig + "XMLSignatureFactory"
    made = client.call(factory, "getInstance", text("DOM"))
    digest = client.call(factory, "newDigestMethod", text("http://www.w3.org/2001/04/xmlenc#sha256"), None, on=made)
    reference = client.call(factory, "newReference", text(name), ref(digest), on=made)
    form = client.call(factory, "newCanonicalizationMethod", text("http://www.w3.org/TR/2001/REC-xml-c14n-20010315"),
                       given(dsig + "spec.C14NMethodParameterSpec", None), on=made)
    method = client.call(factory, "newSignatureMethod", text("http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"),
                         None, on=made)
    references = client.new("java.util.ArrayList")
    client.call("java.util.List", "add", ref(reference), on=references)
    info = client.call(factory, "newSignedInfo", ref(form), ref(method), given("java.util.List", references), on=made)
    signature = client.call(factory, "newXMLSignature", ref(info), None, on=made)
    key = client.new("javax.crypto.spec.SecretKeySpec", typed("byte[]", [1] * 32), text("HmacSHA256"))
    context = client.new(dsig + "dom.DOMSignContext", given("java.security.Key", key),
                         given("org.w3c.dom.Node", client.call("javax.xml.parsers.DocumentBuilder", "newDocument",
                                                               on=builder(client))))
    for name, value in (("javax.xml.crypto.dsig.cacheReference", True), ("org.jcp.xml.dsig.secureValidation", False)):
        client.call("javax.xml.crypto.XMLCryptoContext", "setProperty", text(name), typed("Boolean", value), on=context)
    client.call(dsig + "XMLSignature", "sign", given(dsig + "XMLSignContext", context), on=signature)
    client.call(dsig + "Reference", "getDigestInputStream", on=reference)


def builder(client):
    factory = "javax.xml.parsers.DocumentBuilderFactory"
    return client.call(factory, "newDocumentBuilder", on=client.call(factory, "newDefaultInstance"))


def associated_style_sheet(client, name):
    factory = "javax.xml.transform.TransformerFactory"
    source = client.new("javax.xml.transform.sax.SAXSource", ref(client.new("org.xml.sax.InputSource", text(name))))
    client.call(factory, "getAssociatedStylesheet", ref(source), None, None, None,
                on=client.call(factory, "newDefaultInstance"))


def normalize(client, kind, document_type, schema):
    """Checks a document in memory against a file."""
    maker = client.call("javax.xml.parsers.DocumentBuilder", "getDOMImplementation", on=builder(client))
    doctype = None
    if document_type is not None:
        doctype = client.call("org.w3c.dom.DOMImplementation", "createDocumentType", text("a"), None,
                              text(document_type), on=maker)
    document = client.call("org.w3c.dom.DOMImplementation", "createDocument", None, text("a"),
                           given("org.w3c.dom.DocumentType", doctype), on=maker)
    settings = client.call("org.w3c.dom.Document", "getDomConfig", on=document)
    values = {"validate": typed("Boolean", True), "schema-type": text(kind)}
    if schema is not None:
        values["schema-location"] = text(schema)
    for name, value in values.items():
        client.call("org.w3c.dom.DOMConfiguration", "setParameter", text(name), value, on=settings)
    client.call("org.w3c.dom.Document", "normalizeDocument", on=document)


ATTACKS = [name for name, value in vars(Attacks).items()
           if callable(value) and name not in ("__init__", "stream", "beans_server")]


class Presets(PeerCase):
    def attack(self, peer, name):
        child = subprocess.Popen(["sleep", "600"])
        try:
            with WebSocketClient(peer) as client, self.assertRaises(RpcError) as raised:
                attacks = Attacks(client, child, peer.folder.name)
                getattr(attacks, name)()
            self.assertEqual(raised.exception.code, -32001, raised.exception)
            self.assertFalse(attacks.marker.exists())
            self.assertIsNone(child.poll())
        finally:
            child.kill()
            child.wait()

    @on_each_jdk
    def test_each_attack_is_denied(self, options):
        for presets in (PRESETS, WITHOUT_FILES, WITHOUT_INTERNALS):
            with Peer(*options, "--rpc-policy-preset", ",".join(presets), allow=False) as peer:
                for name in ATTACKS:
                    with self.subTest(presets=len(presets), attack=name):
                        self.attack(peer, name)
                self.assertNotIn("Loud", peer.stdout())

    @on_each_jdk
    def test_files_are_denied(self, options):
        for presets in ("deny-files", ",".join(PRESETS)):
            with Peer(*options, "--rpc-policy-preset", presets, allow=False) as peer:
                self.attack_files(peer, presets)

    def attack_files(self, peer, of):
        marker = Path(peer.folder.name) / "marker"
        with WebSocketClient(peer) as client:
            # A name is no file: paths and the collections beside these classes stay usable.
            name = client.call("java.nio.file.Path", "getFileName", on=path_of(client, str(marker)))
            self.assertEqual(client.call("java.lang.Object", "toString", on=name), "marker")
            self.assertEqual(client.call("java.io.File", "getName", on=client.new("java.io.File", text("/a/b"))), "b")
            for attack, run in FILES.items():
                with self.subTest(of=of, attack=attack):
                    self.assert_denied(run, client, str(marker))
        self.assertFalse(marker.exists())
