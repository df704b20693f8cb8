"""Invented names of classes: an absent class leaves nothing in the JVM, and an existing class is found."""

import json
import shutil
import tempfile
from pathlib import Path

from support.callback_client import CallbackClient
from support.clients import RpcError, WebSocketClient, ref, typed
from support.peer import FIXTURES, Peer
from support.peer_case import PeerCase

BEYOND = FIXTURES.parent / "beyond.jar"
PREFIXES = ("no.such.Name", "NoSuchName", "java.util.NoSuch", "java.sql.NoSuch", "fixtures.NoSuch", "fixtures.Calling$No")


def name_of(prefix, number):
    """Long names fill the memory sooner. The limit of the JVM is 65,535 bytes."""
    return f"{prefix}{number}{'x' * 20000}"


def requests_of(name):
    """Requests that name the class in each possible place. They have no id, so that the peer spends no time on
    suggestions."""
    isnull = {"type": "java.util.Objects", "method": "isNull"}
    yield "call", {"type": name, "method": "run", "args": []}
    yield "new", {"type": f"{name}[][]", "args": [1]}
    yield "call", {**isnull, "args": [typed(name, None)]}
    yield "call", {**isnull, "args": [typed("Class", name)]}
    yield "call", {**isnull, "args": [{"value": [typed(f"[L{name};", None)]}]}
    yield "call", {**isnull, "args": [{"ref": {"callback": 1}, "interfaces": [name]}]}
    yield "jpeer.describe", {"type": name}
    yield f"{name}.run", {}


class Absent(PeerCase):
    def used_bytes(self, client):
        client.call("java.lang.System", "gc")
        runtime = client.call("java.lang.Runtime", "getRuntime")
        return sum(factor * int(client.call("java.lang.Runtime", method, on=runtime))
                   for factor, method in ((1, "totalMemory"), (-1, "freeMemory")))

    def fill(self, client, numbers):
        for number in numbers:
            batch = [{"jsonrpc": "2.0", "method": method, "params": params} for prefix in PREFIXES
                     for method, params in requests_of(name_of(prefix, number))]
            client.send(json.dumps([*batch, {"jsonrpc": "2.0", "id": number, "method": "control",
                                             "params": {"method": "ping"}}]))
            answers = json.loads(client.receive())
            while isinstance(answers, dict):  # not the answers, but the release of the callback
                answers = json.loads(client.receive())
            self.assertEqual([answer["id"] for answer in answers], [number])

    def test_absent_classes_leave_nothing_in_the_heap(self):
        self.start("-J", "-Xmx128m")
        client = self.connect(CallbackClient)
        self.fill(client, range(5))
        before = self.used_bytes(client)
        self.fill(client, range(5, 45))
        grown = self.used_bytes(client) - before
        self.assertLess(grown, 2 << 20)  # the names need 4.8 MB
        self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")


class Present(PeerCase):
    """A class that was absent a moment ago, and classes that are not on the class path."""

    def assert_absent(self, client, name):
        self.assert_fails(-32601, "", client.call, name, "loaderName")

    def test_a_class_file_that_is_added_later_is_found(self):
        with tempfile.TemporaryDirectory() as folder, Peer(class_path=f"{folder}:{FIXTURES}") as peer, \
                WebSocketClient(peer) as client:
            self.assert_absent(client, "beyond.Bean")
            shutil.unpack_archive(BEYOND, folder, "zip")
            self.assertTrue((Path(folder) / "beyond" / "Bean.class").exists())
            self.assertNotEqual(client.call("beyond.Bean", "loaderName"), "")
            self.assert_absent(client, "beyond.Beam")

    def test_a_jar_of_the_boot_loader_is_searched(self):
        client = self.serve("-J", f"-Xbootclasspath/a:{BEYOND}")
        self.assertNotEqual(client.new("beyond.Bean", "mine"), "")
        self.assert_absent(client, "beyond.Beam")

    def test_a_class_that_was_defined_at_run_time_is_found(self):
        """Lookup.defineClass defines the class in the application's class loader, without a class file."""
        client = self.serve()
        self.assert_absent(client, "fixtures.Made")
        client.call("fixtures.Loading", "makeNeighbour")
        self.assertEqual(client.call("java.util.Objects", "isNull", typed("Class", "fixtures.Made")), "false")

    def test_a_final_field_of_a_hidden_class_is_not_written(self):
        """No loader finds the class by its name: only its object leads to it."""
        client = self.serve()
        made = client.value("call", {"type": "fixtures.members.Finals", "method": "hidden", "args": [5]})
        self.assertTrue(made["type"].startswith("fixtures.members.Finals$$Lambda"), made)
        field = client.call("fixtures.members.Finals", "fieldOf", ref(made["ref"]))
        with self.assertRaises(RpcError):
            client.put(made["type"], field, 6, on=made["ref"])
        self.assertEqual(client.call("java.util.function.IntSupplier", "getAsInt", on=made["ref"]), "5")

    def test_classes_of_modules_are_found(self):
        client = self.serve()
        for name in ("java.sql.Timestamp", "java.util.concurrent.Phaser", "javax.naming.CompositeName",
                     "com.sun.tools.javac.Main"):
            self.assertIsNotNone(client.call("java.lang.Class", "getName", on=client.call(
                "java.util.Objects", "requireNonNull", typed("Class", name))))
