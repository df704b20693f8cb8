"""--rpc-allow through the binary: what it opens, what it leaves closed, and what a peer without any policy says."""

import tempfile
import unittest

from support.clients import HttpClient, WebSocketClient, ZmqClient, fetch, typed
from support.peer import environment, run_to_end
from support.peer_case import PeerCase, allow, deny

CHANNELS = {WebSocketClient: "WEBSOCKET_RPC", HttpClient: "HTTP_RPC", ZmqClient: "ZMQ_SOCKET_RPC"}
ADD = ("fixtures.Calculator", "add", 1, 2)


class Allow(PeerCase):
    def test_the_public_members_of_what_it_names(self):
        self.assertNotIn("policy", self.start("--rpc-allow", "fixtures.**", allow=False).stderr())
        for client in self.each(*CHANNELS):
            self.assertEqual(client.call(*ADD), "3")
            self.assertEqual(client.get("fixtures.Config", "VERSION"), "1")
            client.put("fixtures.Config", "debugMode", typed("boolean", True))
            members = client.new("fixtures.Members")
            self.assertEqual(client.call("fixtures.Members", "publicMethod", on=members), "public")
            for member in ("privateMethod", "packageMethod", "protectedMethod"):
                self.assert_denied(client.call, "fixtures.Members", member, on=members)
            self.assert_denied(client.get, "fixtures.Members", "privateField", on=members)
            self.assert_denied(client.call, "java.lang.Math", "max", 3, 5)

    def test_a_nested_class_has_its_own_name(self):
        for patterns, is_open in (("fixtures.Outer", False), ("fixtures.Outer,fixtures.Outer$*", True),
                                  ("fixtures.Outer*", True), ("fixtures.*", True)):
            client = self.serve("--rpc-allow", patterns, allow=False)
            self.assertEqual(client.get("fixtures.Outer", "depth", on=client.new("fixtures.Outer")), "1")
            if is_open:
                nested = client.new("fixtures.Outer$Nested")
                self.assertEqual(client.call("fixtures.Outer$Nested", "where", on=nested), "nested")
            else:
                self.assert_denied(client.new, "fixtures.Outer$Nested")

    def test_an_object_of_another_package_needs_its_class(self):
        for patterns, is_open in (("fixtures.**", False), ("fixtures.**,java.util.List", True)):
            client = self.serve("--rpc-allow", patterns, allow=False)
            titles = client.call("fixtures.Shelf", "titles")
            if is_open:
                self.assertEqual(client.call("java.util.List", "get", 0, on=titles), "Emma")
            else:
                self.assert_denied(client.call, "java.util.List", "get", 0, on=titles)
                self.assert_denied(client.call, "java.util.ArrayList", "get", 0, on=titles)

    def test_file_and_presets_come_first(self):
        client = self.serve_with(deny("fixtures.Calculator") + allow("fixtures.Members", visibility="PRIVATE"),
                                 "--rpc-allow", "fixtures.**,jdk:java.lang.*", "--rpc-policy-preset", "deny-unsafe",
                                 head="defaultAction: ALLOW\n")
        self.assert_denied(client.call, *ADD)
        members = client.new("fixtures.Members")
        self.assertIn("private", client.call("fixtures.Members", "privateMethod", on=members))
        self.assert_denied(client.call, "java.lang.System", "exit", typed("int", 3))
        self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")
        # The file's default is ALLOW; --rpc-allow says otherwise.
        self.assert_denied(client.new, "java.util.ArrayList")

    def test_a_default_on_the_command_line_wins(self):
        client = self.serve("--rpc-allow", "fixtures.**")  # and --rpc-default-action ALLOW
        self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")
        self.assertIn("--rpc-default-action ALLOW allows more than what --rpc-allow names", self.peer.stderr())

    def test_the_variable(self):
        client = self.serve(allow=False, env=environment(JPEER_RPC_ALLOW="fixtures.Calculator"))
        self.assertEqual(client.call(*ADD), "3")
        self.assert_denied(client.new, "fixtures.Members")

    def test_metadata_shows_just_that(self):
        client = self.serve("--rpc-allow", "fixtures.Members,fixtures.Outer$*", allow=False)
        described = {one["className"]: one for one in fetch(client)}
        self.assertEqual(sorted(described), ["fixtures.Members", "fixtures.Outer$Inner", "fixtures.Outer$Nested"])
        for kind in ("constructors", "methods", "fields"):
            members = described["fixtures.Members"][kind]
            self.assertTrue(members and all("public" in member["modifiers"] for member in members), members)


class Refused(unittest.TestCase):
    """What is no list of patterns, and wildcards that match classes of the JDK. test_allow.c has more of them."""

    def check(self, *texts, words=(), env=None):
        done = run_to_end("run", *words, "--as-service", env=env)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_bad_patterns(self):
        for patterns, text in (("fixtures..A", "--rpc-allow: pattern 'fixtures..A': has an empty segment"),
                               ("fixtures.**, java.util.**", "--rpc-allow: pattern ' java.util.**': has a blank"),
                               ("fixtures.**,", "--rpc-allow: pattern '': is empty"),
                               ("fixtures/A", "--rpc-allow: pattern 'fixtures/A': has a '/'")):
            self.check(text, words=("--rpc-allow", patterns))

    def test_a_wildcard_that_matches_the_jdk(self):
        for patterns in ("java.lang.Math,java.util.**", "**", "jdk:java.util.*,java.time.*"):
            wrong = patterns.rpartition(",")[2]
            self.check(f"--rpc-allow: pattern '{wrong}' matches classes of the JDK: ",
                       f"jdk: before the pattern ('jdk:{wrong}')", words=("--rpc-allow", patterns))

    def test_the_error_names_what_it_would_open(self):
        self.check("java.util.ServiceLoader.load (loads classes)", "(opens, lists, changes or deletes files)",
                   words=("--rpc-allow", "java.util.**", "--rpc-policy-preset", "deny-files"))

    def test_every_way_to_give_it_is_the_same(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("--rpc-allow java.util.**\n")
            file.flush()
            for words, env in (((), environment(JPEER_RPC_ALLOW="java.util.**")), ((f"@{file.name}",), None),
                               (("--rpc-allow=java.util.**",), None)):
                self.check("pattern 'java.util.**' matches classes of the JDK", words=words, env=env)

    def test_explain_means_the_same(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\n")
            file.flush()
            for patterns, code in (("java.util.**", 1), ("jdk:java.util.**", 0), ("com.example.**", 0)):
                done = run_to_end("policy", "explain", file.name, "java.util.List.get", "--rpc-allow", patterns)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)


class WithoutAnyPolicy(PeerCase):
    """A client has to be able to tell its operator what is missing."""

    def test_a_denial_says_so(self):
        self.assertIn("--rpc-allow 'com.example.**'", self.start(allow=False).stderr())
        for client in self.each(*CHANNELS):
            told = self.assert_denied(client.call, *ADD, text="was started without a policy").detail
            begin = f"RPC access denied: fixtures.Calculator.add via {CHANNELS[type(client)]}: "
            self.assertTrue(told.startswith(begin) and told.endswith("--rpc-allow 'fixtures.Calculator'"), told)

    def test_a_denial_is_short_where_nobody_can_allow_it_or_there_is_a_policy(self):
        for name, method, options in (("jpeer.peer.PeerThread", "run", ()), ("a.B", "c", ("--rpc-allow", "com.example.**")),
                                      ("a.B", "c", ("--rpc-default-action", "DENY"))):
            client = self.serve(*options, allow=False)
            self.assertEqual(self.assert_denied(client.call, name, method).detail,
                             f"RPC access denied: {name}.{method} via WEBSOCKET_RPC")
