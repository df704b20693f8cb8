"""A policy that changes while the peer serves, and the commands that check and explain a policy."""

import json
import signal
import threading
import time

from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, fetch, own_name, ref
from support.peer import START_SECONDS, environment, eventually, run_to_end
from support.peer_case import DENIED, PeerCase, allow, deny

CALCULATOR = "fixtures.Calculator"
CONFIG = "fixtures.Config"
FAILED = "Failed to reload RPC policy: "
# Two policies. Each allows one of two classes.
CALCULATOR_ONLY, CONFIG_ONLY = allow(CALCULATOR), allow(CONFIG)
BATCH = json.dumps([
    {"jsonrpc": "2.0", "id": "calculator", "method": "call",
     "params": {"type": CALCULATOR, "method": "add", "args": [1, 2]}},
    {"jsonrpc": "2.0", "id": "config", "method": "get", "params": {"type": CONFIG, "field": "VERSION"}},
] * 10)


def allowed(client):
    """Calls both classes. Returns the names of those that may be called."""
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
    """Returns which of the two classes metadata shows."""
    return {entry["simpleName"].lower() for entry in fetch(client, CALCULATOR, CONFIG)}


def discovered(client):
    methods = client.request("rpc.discover", {"classes": [CALCULATOR, CONFIG]})["result"]["methods"]
    return {method["name"].rsplit(".", 1)[0].rsplit(".", 1)[-1].lower() for method in methods}


class Reload(PeerCase):
    def test_a_changed_file_is_noticed_on_every_transport(self):
        client = self.serve_with(CALCULATOR_ONLY)
        other = self.connect(HttpClient)
        third = self.connect(ZmqClient)
        for each in (client, other, third):
            self.assertEqual(allowed(each), {"calculator"})
        self.assertEqual(listed(client), {"calculator"})
        self.assertEqual(discovered(client), {"calculator"})
        self.put_policy(CONFIG_ONLY)
        eventually(lambda: allowed(client) == {"config"}, "the new file holds")
        for each in (other, third):
            self.assertEqual(allowed(each), {"config"})
        self.assertEqual(listed(client), {"config"})
        self.assertEqual(discovered(client), {"config"})
        self.peer.await_stderr(f"RPC policy reloaded: {self.policy}")

    def test_a_file_that_fails_or_is_gone_leaves_the_old_policy(self):
        client = self.serve_with(CALCULATOR_ONLY)
        self.put_policy(allow(CONFIG, "PERHAPS"))
        eventually(lambda: FAILED in self.peer.stderr(), "the wrong file is reported")
        self.assertIn(f"{FAILED}{self.policy}:3: ", self.peer.stderr())
        self.assertIn("PERHAPS", self.peer.stderr())
        self.assertEqual(allowed(client), {"calculator"})
        self.policy.unlink()
        eventually(lambda: self.peer.stderr().count(FAILED) == 2, "the missing file is reported")
        self.assertIn(f"{FAILED}{self.policy}: No such file", self.peer.stderr())
        self.assertEqual(allowed(client), {"calculator"})
        self.put_policy(CONFIG_ONLY)
        eventually(lambda: allowed(client) == {"config"}, "a good file holds again")

    def test_a_folder_in_the_files_place_is_reported_once(self):
        client = self.serve_with(CALCULATOR_ONLY, "--rpc-policy-watch-interval", "50")
        folder = self.policy.with_suffix(".folder")
        folder.mkdir()
        self.policy.unlink()
        folder.rename(self.policy)
        line = f"{FAILED}{self.policy}: only a regular file"
        eventually(lambda: line in self.peer.stderr(), "the folder is reported")
        (self.policy / "change").mkdir()
        time.sleep(0.5)
        self.assertEqual(self.peer.stderr().count(line), 1)
        self.assertEqual(allowed(client), {"calculator"})
        (self.policy / "change").rmdir()
        self.policy.rename(folder)
        self.put_policy(CONFIG_ONLY)
        eventually(lambda: allowed(client) == {"config"}, "a good file holds again")

    def test_without_an_interval_only_a_hangup_reloads(self):
        client = self.serve_with(CALCULATOR_ONLY, "--rpc-policy-watch-interval", "0")
        self.put_policy(CONFIG_ONLY)
        self.assertEqual(allowed(client), {"calculator"})
        self.peer.send_signal(signal.SIGHUP)
        eventually(lambda: allowed(client) == {"config"}, "the new file holds")

    def test_what_the_command_line_gave_is_kept(self):
        options = ("--rpc-policy-preset", "deny-nonpublic", "--rpc-allow", CONFIG)
        client = self.serve_with("", *options)
        self.assertEqual(allowed(client), {"config"})
        self.put_policy(CALCULATOR_ONLY)
        eventually(lambda: allowed(client) == {"config", "calculator"}, "both hold")
        client = self.serve_with("", "--rpc-policy-preset", "deny-nonpublic", head="defaultAction: ALLOW\n")
        self.put_policy(deny(CONFIG), head="defaultAction: ALLOW\npresets: {deny-scripting: true}\n")
        eventually(lambda: allowed(client) == {"calculator"}, "the new file holds")
        self.assert_denied(client.call, "fixtures.Members", "privateStatic")
        self.assert_denied(client.new, "javax.script.ScriptEngineManager")

    def test_what_a_supertype_had_opened_is_closed(self):
        heritage, name = "fixtures.heritage.Heritage", "fixtures.heritage.Heritage$Hidden"
        maker = allow(heritage, members="STATIC_METHOD")
        client = self.serve_with(maker + allow("fixtures.heritage.Open"), "--rpc-policy-watch-interval", "50")
        hidden = client.call(heritage, "hidden")
        for _ in range(3):
            self.assertEqual(client.call(name, "read", on=hidden), "Hidden")
        self.put_policy(maker)
        read = {"type": name, "method": "read", "instance": hidden}
        eventually(lambda: client.request("call", read).get("error", {}).get("code") == DENIED, "the new file holds")
        self.assert_denied(own_name, client, f"{name}.read", ref(hidden))

    def test_a_request_ends_under_the_policy_that_it_began_with(self):
        batch = [{"jsonrpc": "2.0", "id": 1, "method": "call",
                  "params": {"type": "fixtures.Blockers", "method": "pass", "args": []}},
                 {"jsonrpc": "2.0", "id": 2, "method": "call",
                  "params": {"type": CALCULATOR, "method": "add", "args": [1, 2]}}]
        client = self.serve_with(allow("fixtures.Blockers") + CALCULATOR_ONLY)
        held = self.connect()
        held.send(json.dumps(batch))
        eventually(lambda: client.call("fixtures.Blockers", "running") == "1", "the batch is inside Java")
        self.put_policy(allow("fixtures.Blockers") + CONFIG_ONLY)
        eventually(lambda: allowed(client) == {"config"}, "the new file holds")
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
            except Exception as error:  # any exception fails the test
                faults.append(error)

        client = self.serve_with(CALCULATOR_ONLY)
        threads = [threading.Thread(target=ask, args=(transport, self.peer), daemon=True)
                   for transport in (WebSocketClient, HttpClient, ZmqClient)]
        for thread in threads:
            thread.start()
        for turn in range(40):
            self.put_policy(CONFIG_ONLY if turn % 2 == 0 else CALCULATOR_ONLY)
            self.peer.send_signal(signal.SIGHUP)
            wanted = {"config" if turn % 2 == 0 else "calculator"}
            eventually(lambda: allowed(client) == wanted or faults, "the new file holds")
            before = seen.copy()
            eventually(lambda: seen != before or faults, "an answer comes under it")
        over.set()
        for thread in threads:
            thread.join(START_SECONDS)
        self.assertEqual(faults, [])
        self.assertTrue(all(seen.values()), seen)

    def test_a_hangup_without_a_file_stops_the_peer(self):
        self.start("--rpc-allow", CONFIG, allow=False)
        self.assertEqual(self.peer.stop(signal.SIGHUP), 0)


class Commands(PeerCase):
    def run_policy(self, *arguments):
        return run_to_end("policy", *map(str, arguments), env=environment(leaks=True))

    def test_check_prints_faults_and_warnings(self):
        path = self.make_policy(CALCULATOR_ONLY)
        done = self.run_policy("check", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{path}: good\n", ""))
        self.put_policy("  - {clas: a.A, action: DENY}\n", head="defaultAction: ALLOW\n")
        done = self.run_policy("check", path)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{path}:4: ", done.stderr)
        self.assertIn("clas", done.stderr)

    def test_warnings_leave_a_file_good(self):
        self.start_with(allow("fixtures.**") + deny(CALCULATOR) + deny("com.example**")
                        + "  - {pattern: org.example.**, action: DENY}\n")
        self.assertNotIn("warning", self.peer.stderr())
        done = self.run_policy("check", self.policy)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.policy}: good, with 3 warnings\n"))
        lines = done.stderr.splitlines()
        self.assertEqual([line.partition(": warning: ")[0] for line in lines],
                         [f"{self.policy}:{number}" for number in (4, 5, 6)])
        self.assertIn("is never used: what it matches is decided by the rule before it in line 3", lines[0])

    def test_explain(self):
        path = self.make_policy(CALCULATOR_ONLY, head="presets: {deny-unsafe: true}\n")
        for words, shown in (((f"{CALCULATOR}.add", "--channel", "HTTP_RPC"),
                             f"{CALCULATOR}.add via HTTP_RPC\n  ALLOW         rule 1 "),
                            (("java.lang.System.exit",), "DENY          preset deny-unsafe\n"),
                            ((f"{CALCULATOR}.destroy", "--class", "java.lang.Process"),
                             "preset deny-unsafe, about the object's class java.lang.Process"),
                            (("some.Other.member",), "DENY          default action\n")):
            done = self.run_policy("explain", path, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(shown, done.stdout)

    def test_wrong_usage(self):
        path = self.make_policy(CALCULATOR_ONLY)
        for arguments, status in (((), 2), (("check",), 2), (("check", path, path), 2), (("explain", path), 2),
                                  (("explain", path, "NoMember"), 2), (("explain", path, "a.B", "c.D"), 2),
                                  (("explain", path, "a.B", "--channel", "PIGEON"), 2),
                                  (("explain", f"{path}.none", "a.B"), 1), (("--help",), 0), (("check", "--help"), 0),
                                  (("explain", "--help"), 0)):
            done = self.run_policy(*arguments)
            self.assertEqual(done.returncode, status, (arguments, done.stdout + done.stderr))
