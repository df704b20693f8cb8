"""fetch_classes_info through the binary: from class files, with no class loaded, filtered by the policy."""

import tempfile
import unittest
import zipfile
from pathlib import Path

from support.clients import HttpClient, WebSocketClient, ZmqClient, fetch
from support.peer import FIXTURES, Peer

PACKAGES_OF_THE_JDK = ("java.lang.String", "java.util.ArrayList", "javax.sql.DataSource", "org.w3c.dom.Node")


def by_name(described, kind, name):
    return [member for member in described[kind] if member["name"] == name]


class Meta(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def test_no_class_is_initialised(self):
        with WebSocketClient(self.peer) as client:
            described, = fetch(client, "fixtures.LoudInitializer")
            self.assertTrue(by_name(described, "methods", "touch"))
            self.assertNotIn("LoudInitializer initialised", self.peer.stdout())
            client.call("fixtures.LoudInitializer", "touch")
            self.assertIn("LoudInitializer initialised", self.peer.stdout())

    def test_every_member_is_told(self):
        with WebSocketClient(self.peer) as client:
            described, = fetch(client, "fixtures.Generics")
        self.assertEqual(described["className"], "fixtures.Generics")
        self.assertEqual(described["simpleName"], "Generics")
        self.assertEqual(described["package"], "fixtures")
        self.assertEqual(described["majorVersion"], 61)
        self.assertEqual(described["sourceFile"], "Generics.java")
        self.assertEqual(described["superclass"], "java.lang.Object")
        self.assertFalse(described["isArrayClass"])
        self.assertEqual(by_name(described, "fields", "deep")[0]["type"],
                         "java.util.Map<java.lang.String, java.util.List<int[]>>")
        self.assertEqual([parameter["name"] for parameter in by_name(described, "methods", "largest")[0]["parameters"]],
                         ["from"])

    def test_ancestry(self):
        with WebSocketClient(self.peer) as client:
            declared, = fetch(client, "fixtures.Subclass")
            merged, = fetch(client, "fixtures.Subclass", merge_ancestry=True)
        self.assertFalse(by_name(declared, "methods", "publicMethod"))
        self.assertEqual(by_name(merged, "methods", "publicMethod")[0]["inheritedFrom"], "fixtures.Members")
        self.assertTrue(by_name(merged, "methods", "overridden")[0]["overridden"])
        self.assertIn("fixtures.Members", declared["superclasses"])
        self.assertIn("fixtures.Shape", declared["interfaces"])

    def test_the_whole_of_it_on_every_transport(self):
        answers = []
        for transport in (WebSocketClient, HttpClient, ZmqClient):
            with transport(self.peer) as client:
                answers.append(fetch(client))
        names = {described["className"] for described in answers[0]}
        for name in ("fixtures.Calculator", "fixtures.Outer$Inner", *PACKAGES_OF_THE_JDK):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.startswith(("sun.", "com.sun.", "jdk."))])
        self.assertFalse([name for name in names if name.startswith("fixtures.Outer$1")])
        self.assertGreater(len(names), 4000)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_the_same_as_text_and_without_holding_it(self):
        with HttpClient(self.peer) as client:
            compressed = fetch(client, exclude_prefixes=["java."])
            before = self.peer.resident_kib()
            self.assertEqual(fetch(client, compress=False, exclude_prefixes=["java."]), compressed)
            fetch(client, compress=False)
            self.assertLess(self.peer.resident_kib() - before, 24 * 1024)

    def test_members_that_the_policy_denies_are_not_shown(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\nrules:\n  - pattern: fixtures.Members.public*\n    action: ALLOW\n")
            file.flush()
            with Peer("--rpc-policy", file.name, allow=False) as peer, WebSocketClient(peer) as client:
                described, = fetch(client)
                self.assertEqual(described["className"], "fixtures.Members")
                self.assertEqual({method["name"] for method in described["methods"]}, {"publicMethod", "publicStatic"})
                self.assertEqual(described["constructors"], [])

    def test_folders_and_multi_release_jars(self):
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(FIXTURES) as fixtures:
            fixtures.extract("fixtures/User.class", folder)
            jar = Path(folder) / "multi.jar"
            with zipfile.ZipFile(jar, "w") as multi:
                multi.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n")
                multi.writestr("com/example/User.class", fixtures.read("com/example/Config.class"))
                multi.writestr("META-INF/versions/17/com/example/User.class", fixtures.read("com/example/User.class"))
            with Peer(class_path=f"{folder}:{jar}") as peer, WebSocketClient(peer) as client:
                user, = fetch(client, "fixtures.User")
                self.assertTrue(by_name(user, "methods", "getAge"))
                versioned, = fetch(client, "com.example.User")
                self.assertTrue(by_name(versioned, "methods", "getAge"))


if __name__ == "__main__":
    unittest.main()
