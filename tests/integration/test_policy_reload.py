"""A policy that changes while the peer serves, and the commands that check and explain one."""

import base64
import gzip
import json
import os
import signal
import tempfile
import threading
import time
import unittest
from pathlib import Path

from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient
from support.peer import Peer, environment, run_to_end

SECONDS = 60
DENIED = -32001
CALCULATOR = "fixtures.Calculator"
CONFIG = "fixtures.Config"
FAILED = "Failed to reload RPC policy: "
# One of two classes is allowed under each.
CALCULATOR_ONLY = "rules: [{class: fixtures.Calculator, action: ALLOW}]\n"
CONFIG_ONLY = "rules: [{class: fixtures.Config, action: ALLOW}]\n"
BATCH = json.dumps([
    {"jsonrpc": "2.0", "id": "calculator", "method": "call",
     "params": {"type": CALCULATOR, "method": "add", "args": [1, 2]}},
    {"jsonrpc": "2.0", "id": "config", "method": "get", "params": {"type": CONFIG, "field": "VERSION"}},
] * 10)


def await_that(condition, what):
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"it never came that {what}")
        time.sleep(0.005)


class PolicyFile:
    def __init__(self, text):
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-policy-")
        self.path = Path(self.folder.name) / "policy.yaml"
        self.put(text)

    def put(self, text):
        """Replaces the file whole, as a deployment does."""
        new = self.path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()


def allowed(client):
    """The names of the two classes that a call reaches."""
    names = set()
    for name, use in (("calculator", lambda: client.call(CALCULATOR, "add", 1, 2)),
                      ("config", lambda: client.get(CONFIG, "VERSION"))):
        try:
            use()
            names.add(name)
        except RpcError as error:
            if error.code != DENIED:
                raise
    return names


def listed(client):
    """The names of the two classes that metadata shows."""
    body = client.call_meta()
    return {entry["simpleName"].lower() for entry in json.loads(gzip.decompress(base64.b64decode(body)))}


class Asking(WebSocketClient):
    def call_meta(self):
        arguments = [{"name": "include_classes", "type": "String[]", "value": [CALCULATOR, CONFIG]}]
        return self.value("meta", {"method": "fetch_classes_info", "args": arguments})["value"]

    def discovered(self):
        methods = self.request("rpc.discover", {"classes": [CALCULATOR, CONFIG]})["result"]["methods"]
        return {method["name"].rsplit(".", 1)[0].rsplit(".", 1)[-1].lower() for method in methods}


class Reload(unittest.TestCase):
    def test_a_changed_file_is_noticed_on_every_transport(self):
        with PolicyFile(CALCULATOR_ONLY) as file, Peer("--rpc-policy", file.path, allow=False) as peer, \
                Asking(peer) as client, HttpClient(peer) as other, ZmqClient(peer) as third:
            for each in (client, other, third):
                self.assertEqual(allowed(each), {"calculator"})
            self.assertEqual(listed(client), {"calculator"})
            self.assertEqual(client.discovered(), {"calculator"})
            file.put(CONFIG_ONLY)
            await_that(lambda: allowed(client) == {"config"}, "the new file holds")
            for each in (other, third):
                self.assertEqual(allowed(each), {"config"})
            self.assertEqual(listed(client), {"config"})
            self.assertEqual(client.discovered(), {"config"})
            peer.await_stderr(f"RPC policy reloaded: {file.path}")

    def test_a_file_that_fails_or_is_gone_leaves_the_old_policy(self):
        with PolicyFile(CALCULATOR_ONLY) as file, Peer("--rpc-policy", file.path, allow=False) as peer, \
                Asking(peer) as client:
            file.put("rules:\n  - {class: fixtures.Config, action: PERHAPS}\n")
            await_that(lambda: FAILED in peer.stderr(), "the wrong file is told of")
            self.assertIn(f"{FAILED}{file.path}:2: ", peer.stderr())
            self.assertIn("PERHAPS", peer.stderr())
            self.assertEqual(allowed(client), {"calculator"})
            file.path.unlink()
            await_that(lambda: peer.stderr().count(FAILED) == 2, "the missing file is told of")
            self.assertIn(f"{FAILED}{file.path}: No such file", peer.stderr())
            self.assertEqual(allowed(client), {"calculator"})
            file.put(CONFIG_ONLY)
            await_that(lambda: allowed(client) == {"config"}, "a good file holds again")

    def test_a_folder_in_the_files_place_is_told_of_once(self):
        with PolicyFile(CALCULATOR_ONLY) as file, \
                Peer("--rpc-policy", file.path, "--rpc-policy-watch-interval", "50", allow=False) as peer, \
                Asking(peer) as client:
            folder = file.path.with_suffix(".folder")
            folder.mkdir()
            file.path.unlink()
            folder.rename(file.path)
            line = f"{FAILED}{file.path}: only a regular file"
            await_that(lambda: line in peer.stderr(), "the folder is told of")
            (file.path / "change").mkdir()
            time.sleep(0.5)
            self.assertEqual(peer.stderr().count(line), 1)
            self.assertEqual(allowed(client), {"calculator"})
            (file.path / "change").rmdir()
            file.path.rename(folder)
            file.put(CONFIG_ONLY)
            await_that(lambda: allowed(client) == {"config"}, "a good file holds again")

    def test_without_an_interval_only_a_hangup_reloads(self):
        with PolicyFile(CALCULATOR_ONLY) as file, \
                Peer("--rpc-policy", file.path, "--rpc-policy-watch-interval", "0", allow=False) as peer, \
                Asking(peer) as client:
            file.put(CONFIG_ONLY)
            self.assertEqual(allowed(client), {"calculator"})
            peer.send_signal(signal.SIGHUP)
            await_that(lambda: allowed(client) == {"config"}, "the new file holds")

    def test_what_the_command_line_gave_is_kept(self):
        options = ("--rpc-policy-preset", "deny-nonpublic", "--rpc-allow", CONFIG)
        with PolicyFile("version: 1\n") as file, Peer("--rpc-policy", file.path, *options, allow=False) as peer, \
                Asking(peer) as client:
            self.assertEqual(allowed(client), {"config"})
            file.put(CALCULATOR_ONLY)
            await_that(lambda: allowed(client) == {"config", "calculator"}, "both hold")

    def test_a_request_ends_under_the_policy_that_it_began_with(self):
        began = "rules: [{class: fixtures.Blockers, action: ALLOW}, {class: fixtures.Calculator, action: ALLOW}]\n"
        batch = [{"jsonrpc": "2.0", "id": 1, "method": "call",
                  "params": {"type": "fixtures.Blockers", "method": "pass", "args": []}},
                 {"jsonrpc": "2.0", "id": 2, "method": "call",
                  "params": {"type": CALCULATOR, "method": "add", "args": [1, 2]}}]
        with PolicyFile(began) as file, Peer("--rpc-policy", file.path, allow=False) as peer, \
                Asking(peer) as held, Asking(peer) as client:
            held.send(json.dumps(batch))
            await_that(lambda: client.call("fixtures.Blockers", "running") == "1", "the batch is inside Java")
            file.put("rules: [{class: fixtures.Blockers, action: ALLOW}, {class: fixtures.Config, action: ALLOW}]\n")
            await_that(lambda: allowed(client) == {"config"}, "the new file holds")
            client.call("fixtures.Blockers", "open")
            answers = json.loads(held.receive())
            self.assertEqual(["result" in answer for answer in answers], [True, True])

    def test_under_load_every_answer_fits_one_of_two_policies(self):
        seen = {"calculator": 0, "config": 0}
        faults = []
        over = threading.Event()

        def ask(transport, peer):
            try:
                with transport(peer) as client:
                    while not over.is_set():
                        answers = json.loads(client.exchange(BATCH))
                        good = {answer["id"] for answer in answers if "result" in answer}
                        bad = {answer["error"]["code"] for answer in answers if "error" in answer}
                        if len(good) != 1 or bad != {DENIED} or sum("result" in one for one in answers) != 10:
                            faults.append(answers)
                            return
                        seen[good.pop()] += 1
            except Exception as error:  # whatever it is, the test fails by it
                faults.append(error)

        with PolicyFile(CALCULATOR_ONLY) as file, Peer("--rpc-policy", file.path, allow=False) as peer, \
                Asking(peer) as client:
            threads = [threading.Thread(target=ask, args=(transport, peer), daemon=True)
                       for transport in (WebSocketClient, HttpClient, ZmqClient)]
            for thread in threads:
                thread.start()
            for turn in range(40):
                file.put(CONFIG_ONLY if turn % 2 == 0 else CALCULATOR_ONLY)
                peer.send_signal(signal.SIGHUP)
                wanted = {"config" if turn % 2 == 0 else "calculator"}
                await_that(lambda: allowed(client) == wanted or faults, "the new file holds")
                before = seen.copy()
                await_that(lambda: seen != before or faults, "an answer comes under it")
            over.set()
            for thread in threads:
                thread.join(SECONDS)
        self.assertEqual(faults, [])
        self.assertTrue(all(seen.values()), seen)

    def test_a_hangup_without_a_file_stops_the_peer(self):
        with Peer("--rpc-allow", CONFIG, allow=False) as peer:
            self.assertEqual(peer.stop(signal.SIGHUP), 0)


class Commands(unittest.TestCase):
    def run_policy(self, *arguments):
        return run_to_end("policy", *arguments, env=environment(leaks=True))

    def test_check(self):
        with PolicyFile(CALCULATOR_ONLY) as file:
            done = self.run_policy("check", str(file.path))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{file.path}: good\n", ""))
            file.put("defaultAction: ALLOW\nrules:\n  - {clas: a.A, action: DENY}\n")
            done = self.run_policy("check", str(file.path))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{file.path}:3: ", done.stderr)
            self.assertIn("clas", done.stderr)

    def test_warnings_leave_a_file_good(self):
        rules = ("  - {class: 'fixtures.**', action: ALLOW}\n  - {class: fixtures.Calculator, action: DENY}\n"
                 "  - {class: com.example**, action: DENY}\n  - {pattern: org.example.**, action: DENY}\n")
        with PolicyFile("rules:\n" + rules) as file:
            done = self.run_policy("check", str(file.path))
            self.assertEqual((done.returncode, done.stdout), (0, f"{file.path}: good, with 3 warnings\n"))
            lines = done.stderr.splitlines()
            self.assertEqual([line.partition(": warning: ")[0] for line in lines],
                             [f"{file.path}:{number}" for number in (3, 4, 5)])
            self.assertIn("is never used: what it matches is decided by the rule before it in line 2", lines[0])
            with Peer("--rpc-policy", file.path, allow=False) as peer:
                self.assertNotIn("warning", peer.stderr())

    def test_explain(self):
        with PolicyFile("presets: {deny-unsafe: true}\n" + CALCULATOR_ONLY) as file:
            path = str(file.path)
            told = self.run_policy("explain", path, f"{CALCULATOR}.add", "--channel", "HTTP_RPC")
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertTrue(told.stdout.startswith(f"{CALCULATOR}.add via HTTP_RPC\n  ALLOW         rule 1 "), told.stdout)
            told = self.run_policy("explain", path, "java.lang.System.exit")
            self.assertIn("DENY          preset deny-unsafe\n", told.stdout)
            told = self.run_policy("explain", path, f"{CALCULATOR}.destroy", "--class", "java.lang.Process")
            self.assertIn("preset deny-unsafe, about the object's class java.lang.Process", told.stdout)
            told = self.run_policy("explain", path, "some.Other.member")
            self.assertIn("DENY          default action\n", told.stdout)

    def test_wrong_usage(self):
        with PolicyFile(CALCULATOR_ONLY) as file:
            path = str(file.path)
            for arguments, status in (((), 2), (("check",), 2), (("check", path, path), 2), (("explain", path), 2),
                                      (("explain", path, "NoMember"), 2), (("explain", path, "a.B", "c.D"), 2),
                                      (("explain", path, "a.B", "--channel", "PIGEON"), 2),
                                      (("explain", path + ".none", "a.B"), 1), (("--help",), 0),
                                      (("check", "--help"), 0), (("explain", "--help"), 0)):
                with self.subTest(arguments=arguments):
                    done = self.run_policy(*arguments)
                    self.assertEqual(done.returncode, status, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
