"""Attacks each policy that README and docs/ show: a class file is written into the class path, and loaded by its
name."""

import re
import tempfile
import zipfile
from pathlib import Path

from support.clients import WebSocketClient, ref, typed
from support.peer import FIXTURES, ROOT, Peer, run_to_end
from support.peer_case import PeerCase

LOUD = "fixtures.LoudBundle"  # prints when it is initialised


def examples():
    """The options of a peer by the place of the example. A file's text has the option "file"."""
    found = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"```(\w+)\n(.*?)```", text, re.S):
            place = f"{page.name}:{text.count(chr(10), 0, block.start()) + 1}"
            if block[1] == "yaml" and re.search(r"^(rules|presets|defaultAction):", block[2], re.M):
                found[place] = {"file": block[2]}
            for command in block[2].replace("\\\n", " ").splitlines() if block[1] == "sh" else ():
                options = {option: value.strip("'\"") for option, value in re.findall(
                    r"(--rpc-allow|--rpc-policy-preset|--rpc-default-action)[ =]('[^']*'|\S+)", command)}
                # "Everything. For your own machine only" is not a policy.
                if options and options.get("--rpc-default-action") != "ALLOW" and "policy explain" not in command:
                    found[f"{place} {command.strip()[:60]}"] = options
    return found


def text(value):
    return typed("String", value)


def write_class(client, content):
    formatter = client.new("java.util.Formatter", text(f"{LOUD.replace('.', '/')}.class"), text("ISO-8859-1"))
    client.call("java.util.Formatter", "format", text("%s"), typed("Object[]", [text(content.decode("latin-1"))]),
                on=formatter)
    client.call("java.util.Formatter", "close", on=formatter)


WAYS_TO_LOAD = {
    "bundle": lambda client: client.call("java.util.ResourceBundle", "getBundle", text(LOUD)),
    "bundle of a subclass": lambda client: client.call("java.util.ListResourceBundle", "getBundle", text(LOUD)),
    "name": lambda client: client.call("java.lang.Class", "forName", text(LOUD)),
    "logger": lambda client: client.call("java.util.logging.Logger", "getLogger", text("x"), text(LOUD)),
    "logger's level": lambda client: client.call(
        "java.lang.Object", "toString", on=client.new("java.util.logging.Level", text("X"), typed("int", 1), text(LOUD))),
    "loader": lambda client: client.call("java.lang.ClassLoader", "loadClass", text(LOUD),
                                         on=client.call("java.lang.ClassLoader", "getSystemClassLoader")),
    "process": lambda client: client.call("java.lang.Runtime", "exec", text("true"),
                                          on=client.call("java.lang.Runtime", "getRuntime")),
}


class Examples(PeerCase):
    def test_no_example_gives_a_client_code_of_its_own(self):
        with zipfile.ZipFile(FIXTURES) as jar:
            content = jar.read(f"{LOUD.replace('.', '/')}.class")
        found = examples()
        self.assertGreater(len(found), 8)
        for place, options in found.items():
            with self.subTest(place=place), tempfile.TemporaryDirectory() as folder:
                self.attack(Path(folder), dict(options), content)

    def attack(self, folder, options, content):
        written = folder / f"{LOUD.replace('.', '/')}.class"
        written.parent.mkdir()
        if "file" in options:
            (folder / "policy.yaml").write_text(options.pop("file"), encoding="utf-8")
            options["--rpc-policy"] = folder / "policy.yaml"
        line = [word for option in options.items() for word in option]
        peer = self.start(*line, allow=False, class_path=None, cwd=folder)
        client = self.connect()
        self.assert_denied(write_class, client, content)
        self.assertFalse(written.exists())
        written.write_bytes(content)  # as if it had been put there in another way
        for way, load in WAYS_TO_LOAD.items():
            with self.subTest(way=way):
                self.assert_denied(load, client)
        self.assertNotIn("LoudBundle", peer.stdout())

    def test_no_example_has_a_warning(self):
        for place, options in examples().items():
            if "file" in options:
                with self.subTest(place=place), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                    file.write(options["file"])
                    file.flush()
                    done = run_to_end("policy", "check", file.name)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_attack_works_where_all_is_allowed(self):
        with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(FIXTURES) as jar:
            folder = Path(name)
            (folder / "fixtures").mkdir()
            content = jar.read("fixtures/LoudBundle.class")
            with Peer("--rpc-allow", "jdk:java.util.**", allow=False, class_path=None, cwd=folder) as peer:
                with WebSocketClient(peer) as client:
                    write_class(client, content)
                    self.assertEqual((folder / "fixtures" / "LoudBundle.class").read_bytes(), content)
                    self.assertIsNotNone(ref(WAYS_TO_LOAD["bundle"](client)))
                peer.await_stdout("LoudBundle was initialised")
