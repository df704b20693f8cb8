"""fetch_classes_info through the binary: from class files, with no class loaded, filtered by the policy."""

import shutil
import tempfile
import zipfile
from pathlib import Path

from support.clients import HttpClient, WebSocketClient, ZmqClient, fetch
from support.peer import FIXTURES, Peer
from support.peer_case import PeerCase, on_each_jdk

PACKAGES_OF_THE_JDK = ("java.lang.String", "java.util.ArrayList", "javax.sql.DataSource", "org.w3c.dom.Node")


def by_name(described, kind, name):
    return [member for member in described[kind] if member["name"] == name]


class Meta(PeerCase):
    options = ()

    def test_no_class_is_initialised(self):
        client = self.connect()
        described, = fetch(client, "fixtures.LoudInitializer")
        self.assertTrue(by_name(described, "methods", "touch"))
        self.assertNotIn("LoudInitializer initialised", self.peer.stdout())
        client.call("fixtures.LoudInitializer", "touch")
        self.assertIn("LoudInitializer initialised", self.peer.stdout())

    def test_a_few_classes_are_described_alike_before_and_after_the_catalog_is_read(self):
        """Until a client needs all classes, the peer reads the files of only those that a request names."""
        requests = [("jpeer.describe", {"type": "fixtures.Subclass"}), ("jpeer.describe", {"type": "java.util.Map"}),
                    ("jpeer.describe", {"type": "fixtures.Outer"}),
                    ("rpc.discover", {"classes": ["fixtures.Generics"]}),
                    ("rpc.discover", {"classes": ["java.util.ArrayList", "java.lang.*Buil*", "java.time.L*Date"]}),
                    ("rpc.discover", {"classes": ["fixtures.*"], "names": "identifiers"}),
                    ("java.lang.Mth.max", [1, 2]), ("java.lang.Math.mx", [1, 2]), ("java.util.Map.Entry.of", []),
                    ("call", {"type": "java.util.Map.Entry", "method": "x"}),
                    ("call", {"type": "fixtures.Subclas", "method": "x"}),
                    ("call", {"type": "List", "method": "x"}), ("new", {"type": "java.util.ArayList"}),
                    ("call", {"type": "java.lang.Math", "method": "mx", "args": []}),
                    ("get", {"type": "java.lang.Math", "field": "PIE"}), ("java.lang.Math.max", [1, 2]),
                    ("meta", {"method": "fetch_classes_info", "args": [
                        {"name": "include_classes", "value": ["java.lang.String", "java.util.Map", "no.Class"]},
                        {"name": "merge_ancestry", "value": True}]})]
        with Peer() as peer, WebSocketClient(peer) as client:
            before = [client.request(method, params) for method, params in requests]
            self.assertIn("java.util.ArrayList", fetch(client, "java.util.AbstractList")[0]["subclasses"])
            after = [client.request(method, params) for method, params in requests]
        for (method, params), first, second in zip(requests, before, after):
            with self.subTest(method=method, params=params):
                first.pop("id")
                second.pop("id")
                for reply in (first, second):
                    reply.get("error", {}).get("data", {}).pop("request_id", None)
                self.assertEqual(first, second)

    def test_a_description_opens_only_the_jar_that_the_class_was_loaded_from(self):
        """The peer reports a broken jar as soon as it reads its directory."""
        with tempfile.TemporaryDirectory() as folder:
            jar, broken = Path(folder) / "é %41+.jar", Path(folder) / "broken.jar"
            shutil.copy(FIXTURES, jar)
            broken.write_text("no jar", encoding="ascii")
            with Peer(class_path=f"{broken}:{jar}") as peer, WebSocketClient(peer) as client:
                described = client.request("jpeer.describe", {"type": "fixtures.Outer"})["result"]
                self.assertIn("fixtures.Outer$Inner", described["nested"])
                self.assertNotIn("broken.jar", peer.stderr())
                fetch(client, "fixtures.Outer")
                self.assertIn("broken.jar", peer.stderr())

    def test_every_transport_sends_all_classes(self):
        answers = []
        for client in self.each(WebSocketClient, HttpClient, ZmqClient):
            answers.append(fetch(client))
        names = {described["className"] for described in answers[0]}
        for name in ("fixtures.Calculator", "fixtures.Outer$Inner", *PACKAGES_OF_THE_JDK):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if name.startswith(("sun.", "com.sun.", "jdk."))])
        self.assertFalse([name for name in names if name.startswith("fixtures.Outer$1")])
        self.assertGreater(len(names), 4000)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_uncompressed_metadata_is_the_same_and_is_not_kept_in_memory(self):
        client = self.connect(HttpClient)
        compressed = fetch(client, exclude_prefixes=["java."])
        before = self.peer.resident_kib()
        self.assertEqual(fetch(client, compress=False, exclude_prefixes=["java."]), compressed)
        fetch(client, compress=False)
        self.assertLess(self.peer.resident_kib() - before, 24 * 1024)

    def test_folders_and_multi_release_jars_are_read(self):
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


class Suggestions(PeerCase):
    """Suggestions for names that were not found, on each JDK, before and after the catalog was read."""

    @staticmethod
    def suggested(client, name):
        return client.request("call", {"type": name, "method": "member"})["error"]["data"].get("suggestions")

    @on_each_jdk
    def test_denied_classes_do_not_count_as_candidates(self, options):
        # More classes of a JDK are called Holder than are examined for a suggestion.
        client = self.serve(*options, "--rpc-allow", "fixtures.**", allow=False)
        self.assertEqual(self.suggested(client, "fixtures.Holder"), ["fixtures.Typed$Holder"])
        fetch(client)
        self.assertEqual(self.suggested(client, "fixtures.Holder"), ["fixtures.Typed$Holder"])

    @on_each_jdk
    def test_suggestions_do_not_depend_on_who_has_read_the_catalog(self, options):
        client = self.serve(*options)
        names = ("fixtures.Holder", "java.util.Entry", "java.util.ArayList", "org.w3c.Builder")
        before = [self.suggested(client, name) for name in names]
        fetch(client)
        self.assertEqual([self.suggested(client, name) for name in names], before)
        self.assertIn("fixtures.Typed$Holder", before[0])
