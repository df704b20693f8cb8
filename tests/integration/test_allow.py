"""--rpc-allow through the binary: what it opens, what it leaves closed, and what a peer without any policy says."""

import tempfile
import unittest

from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, fetch, typed
from support.peer import Peer, environment, run_to_end

TRANSPORTS = (WebSocketClient, HttpClient, ZmqClient)


class Denials(unittest.TestCase):
    def denied(self, action):
        """data.message of the denial."""
        with self.assertRaises(RpcError) as raised:
            action()
        self.assertEqual(raised.exception.code, -32001)
        self.assertEqual(raised.exception.message, "RPC access denied")
        self.assertTrue(raised.exception.detail.startswith("RPC access denied: "), raised.exception.detail)
        return raised.exception.detail


class Allow(Denials):
    def test_the_public_members_of_what_it_names(self):
        with Peer("--rpc-allow", "fixtures.**", allow=False) as peer:
            self.assertNotIn("policy", peer.stderr())
            for transport in TRANSPORTS:
                with self.subTest(transport=transport.name), transport(peer) as client:
                    self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
                    self.assertEqual(client.get("fixtures.Config", "VERSION"), client.get("fixtures.Config", "VERSION"))
                    client.put("fixtures.Config", "debugMode", typed("boolean", True))
                    members = client.new("fixtures.Members")
                    self.assertEqual(client.call("fixtures.Members", "publicMethod", on=members), "public")
                    self.assertEqual(client.call("fixtures.User", "getName", on=client.new(
                        "fixtures.User", typed("String", "Ada"), 36)), "Ada")
                    for member in ("privateMethod", "packageMethod", "protectedMethod"):
                        self.denied(lambda c=client, m=member: c.call("fixtures.Members", m, on=members))
                    self.denied(lambda c=client: c.get("fixtures.Members", "privateField", on=members))
                    self.denied(lambda c=client: c.call("java.lang.Math", "max", 3, 5))

    def test_a_nested_class_has_its_own_name(self):
        for patterns, allowed in (("fixtures.Outer", False), ("fixtures.Outer,fixtures.Outer$*", True),
                                  ("fixtures.Outer*", True), ("fixtures.*", True)):
            with self.subTest(patterns=patterns):
                with Peer("--rpc-allow", patterns, allow=False) as peer, WebSocketClient(peer) as client:
                    self.assertEqual(client.get("fixtures.Outer", "depth", on=client.new("fixtures.Outer")), "1")
                    if allowed:
                        nested = client.new("fixtures.Outer$Nested")
                        self.assertEqual(client.call("fixtures.Outer$Nested", "where", on=nested), "nested")
                    else:
                        self.denied(lambda: client.new("fixtures.Outer$Nested"))

    def test_an_object_of_another_package_needs_its_class(self):
        with Peer("--rpc-allow", "fixtures.**", allow=False) as peer, WebSocketClient(peer) as client:
            titles = client.call("fixtures.Shelf", "titles")
            self.denied(lambda: client.call("java.util.List", "get", 0, on=titles))
            self.denied(lambda: client.call("java.util.ArrayList", "get", 0, on=titles))
        with Peer("--rpc-allow", "fixtures.**,java.util.List", allow=False) as peer, WebSocketClient(peer) as client:
            titles = client.call("fixtures.Shelf", "titles")
            self.assertEqual(client.call("java.util.List", "get", 0, on=titles), "Emma")

    def test_file_and_presets_come_first(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\ndefaultAction: ALLOW\nrules:\n  - {class: fixtures.Calculator, action: DENY}\n"
                       "  - {class: fixtures.Members, visibility: PRIVATE, action: ALLOW}\n")
            file.flush()
            with Peer("--rpc-allow", "fixtures.**,jdk:java.lang.*", "--rpc-policy", file.name,
                      "--rpc-policy-preset", "deny-unsafe", allow=False) as peer:
                with WebSocketClient(peer) as client:
                    self.denied(lambda: client.call("fixtures.Calculator", "add", 1, 2))
                    members = client.new("fixtures.Members")
                    self.assertIn("private", client.call("fixtures.Members", "privateMethod", on=members))
                    self.denied(lambda: client.call("java.lang.System", "exit", typed("int", 3)))
                    self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")
                    # The file's default is ALLOW; --rpc-allow says otherwise.
                    self.denied(lambda: client.new("java.util.ArrayList"))

    def test_a_default_on_the_command_line_wins(self):
        with Peer("--rpc-allow", "fixtures.**") as peer, WebSocketClient(peer) as client:  # --rpc-default-action ALLOW
            self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")
            self.assertIn("--rpc-default-action ALLOW allows more than what --rpc-allow names", peer.stderr())

    def test_the_variable(self):
        with Peer(allow=False, env=environment(JPEER_RPC_ALLOW="fixtures.Calculator")) as peer:
            with WebSocketClient(peer) as client:
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
                self.denied(lambda: client.new("fixtures.Members"))

    def test_metadata_shows_just_that(self):
        with Peer("--rpc-allow", "fixtures.Members,fixtures.Outer$*", allow=False) as peer:
            with WebSocketClient(peer) as client:
                described = {one["className"]: one for one in fetch(client)}
                self.assertEqual(sorted(described), ["fixtures.Members", "fixtures.Outer$Inner", "fixtures.Outer$Nested"])
                members = described["fixtures.Members"]
                for kind in ("constructors", "methods", "fields"):
                    self.assertTrue(members[kind])
                    for member in members[kind]:
                        self.assertIn("public", member["modifiers"])

    def test_bad_patterns_are_2(self):
        for patterns, text in (("fixtures..A", "--rpc-allow: pattern 'fixtures..A': has an empty segment"),
                               ("fixtures.**, java.util.**", "--rpc-allow: pattern ' java.util.**': has a blank"),
                               ("fixtures.**,", "--rpc-allow: pattern '': is empty"),
                               ("fixtures/A", "--rpc-allow: pattern 'fixtures/A': has a '/'")):
            with self.subTest(patterns=patterns):
                done = run_to_end("run", "--rpc-allow", patterns, "--as-service")
                self.assertEqual(done.returncode, 2)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


    def test_a_wildcard_that_matches_the_jdk_is_2(self):
        for patterns in ("java.lang.Math,java.util.**", "**", "com.**", "org.**", "JA*.util.ArrayList", "**.ArrayList",
                         "java.util.ArrayLis?", "java.util.ArrayList$*", "jdk:java.util.*,java.time.*"):
            with self.subTest(patterns=patterns):
                done = run_to_end("run", "--rpc-allow", patterns, "--as-service")
                self.assertEqual(done.returncode, 2)
                refused = patterns.rpartition(",")[2]
                self.assertIn(f"--rpc-allow: pattern '{refused}' matches classes of the JDK: ", done.stderr)
                self.assertIn(f"jdk: before the pattern ('jdk:{refused}')", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_the_error_names_what_it_would_open(self):
        done = run_to_end("run", "--rpc-allow", "java.util.**", "--as-service", "--rpc-policy-preset", "deny-files")
        self.assertEqual(done.returncode, 2)
        self.assertIn("java.util.ServiceLoader.load (loads classes)", done.stderr)
        self.assertIn("(opens, lists, changes or deletes files)", done.stderr)

    def test_every_way_to_give_it_is_the_same(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("--rpc-allow java.util.**\n")
            file.flush()
            for words, env in (((), environment(JPEER_RPC_ALLOW="java.util.**")), ((f"@{file.name}",), environment()),
                               (("--rpc-allow=java.util.**",), environment())):
                with self.subTest(words=words):
                    done = run_to_end("run", *words, "--as-service", env=env)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn("pattern 'java.util.**' matches classes of the JDK", done.stderr)

    def test_a_mark_allows_it(self):
        with Peer("--rpc-allow", "jdk:java.util.**,fixtures.*", allow=False) as peer, WebSocketClient(peer) as client:
            self.assertIsNotNone(client.new("java.util.ArrayList"))
            self.denied(lambda: client.call("java.lang.Math", "max", 1, 2))

    def test_explain_means_the_same(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\n")
            file.flush()
            for patterns, code in (("java.util.**", 1), ("jdk:java.util.**", 0), ("com.example.**", 0)):
                done = run_to_end("policy", "explain", file.name, "java.util.List.get", "--rpc-allow", patterns)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)


class WithoutAnyPolicy(Denials):
    """A client has to be able to tell its operator what is missing."""

    def test_a_denial_says_so(self):
        with Peer(allow=False) as peer:
            self.assertIn("--rpc-allow 'com.example.**'", peer.stderr())
            for transport, channel in ((WebSocketClient, "WEBSOCKET_RPC"), (HttpClient, "HTTP_RPC"),
                                       (ZmqClient, "ZMQ_SOCKET_RPC")):
                with self.subTest(transport=transport.name), transport(peer) as client:
                    told = self.denied(lambda c=client: c.call("fixtures.Calculator", "add", 1, 2))
                    self.assertTrue(told.startswith(f"RPC access denied: fixtures.Calculator.add via {channel}: "), told)
                    self.assertIn("was started without a policy", told)
                    self.assertTrue(told.endswith("--rpc-allow 'fixtures.Calculator'"), told)

    def test_nobody_can_allow_the_peers_own_classes(self):
        with Peer(allow=False) as peer, WebSocketClient(peer) as client:
            self.assertEqual(self.denied(lambda: client.call("jpeer.peer.PeerThread", "run")),
                             "RPC access denied: jpeer.peer.PeerThread.run via WEBSOCKET_RPC")

    def test_where_there_is_one_a_denial_is_short(self):
        for options in (("--rpc-allow", "com.example.**"), ("--rpc-default-action", "DENY")):
            with self.subTest(options=options), Peer(*options, allow=False) as peer, WebSocketClient(peer) as client:
                self.assertEqual(self.denied(lambda c=client: c.call("fixtures.Calculator", "add", 1, 2)),
                                 "RPC access denied: fixtures.Calculator.add via WEBSOCKET_RPC")


if __name__ == "__main__":
    unittest.main()
