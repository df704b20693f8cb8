"""Policies through the binary: channels, classes that are not loaded, the log, --rpc-allow, and a peer
without any policy. tests/conformance/policy covers single requests and their replies."""

import tempfile
import unittest

from support.clients import HttpClient, WebSocketClient, ZmqClient, fetch, own_name, ref, typed
from support.peer import environment, run_to_end
from support.peer_case import NOT_FOUND, PeerCase, allow, deny

CHANNELS = {WebSocketClient: "WEBSOCKET_RPC", HttpClient: "HTTP_RPC", ZmqClient: "ZMQ_SOCKET_RPC"}
DISPATCH = "fixtures.dispatch.Dispatch"
ADD = ("fixtures.Calculator", "add", 1, 2)
ELSE_ALLOWED = "defaultAction: ALLOW\n"


class Policy(PeerCase):
    def test_a_channel_of_its_own(self):
        self.start_with(allow("fixtures.Calculator", channel="WEBSOCKET_RPC"))
        for client in self.each(*CHANNELS):
            channel = CHANNELS[type(client)]
            if channel == "WEBSOCKET_RPC":
                self.assertEqual(client.call(*ADD), "3")
            else:
                self.assert_denied(client.call, *ADD, text=f"fixtures.Calculator.add via {channel}")

    def test_what_one_channel_allows_is_asked_again_for_another(self):
        """The policy is asked again about the type that an argument names, and about an absent class."""
        client = self.serve_with(allow("fixtures.Arguments") + allow("fixtures.Color", channel="WEBSOCKET_RPC")
                                 + allow("no.such.Type", channel="WEBSOCKET_RPC"))
        take = ("fixtures.Arguments", "takeColor", typed("fixtures.Color", "RED"))
        self.assertEqual(client.call(*take), "plain0")
        self.assertEqual(self.failure(client.call, "no.such.Type", "read").code, NOT_FOUND)
        for kind in (HttpClient, ZmqClient):
            other = self.connect(kind)
            self.assert_denied(other.call, *take, text="fixtures.Color.")
            self.assert_denied(other.call, "no.such.Type", "read")

    def test_overloads_are_candidates_by_channel(self):
        name = DISPATCH + "$Overloaded"
        client = self.serve_with(deny(name, visibility="PACKAGE_PRIVATE", channel="HTTP_RPC"), head=ELSE_ALLOWED)
        other = self.connect(HttpClient)
        one, two = client.new(name), other.new(name)
        for _ in range(4):
            self.assertEqual(client.call(name, "pick", typed("int", 5), on=one), "package int")
            self.assert_denied(other.call, name, "pick", typed("int", 5), on=two)
            self.assertNotIn("pick(int)", self.failure(other.call, name, "pick", 1, 2, 3, on=two).detail)
            self.assertEqual(own_name(client, name + ".pick", ref(one), typed("int", 5)), "package int")
            listed = self.failure(own_name, other, name + ".pick", ref(two), 1, 2, 3).detail
            self.assertEqual(listed.count("pick("), 2, listed)

    def test_a_type_that_is_denied_is_not_loaded(self):
        for rule, is_loaded in (("", False), (allow("fixtures.Color"), True)):
            client = self.serve_with(allow(DISPATCH) + rule, "-J", "-Xlog:class+load")
            for value in (typed("fixtures.Color", None), typed("fixtures.Color[][]", []),
                          typed("List", [typed("fixtures.Color", None)])):
                if is_loaded:
                    client.call(DISPATCH, "any", value)
                else:
                    self.assert_denied(client.call, DISPATCH, "any", value,
                                       text="RPC access denied: fixtures.Color.class via WEBSOCKET_RPC")
            self.assertEqual("fixtures.Color " in self.peer.stdout(), is_loaded)

    def test_a_denied_class_is_not_loaded(self):
        client = self.serve_with(allow("fixtures.Calculator"))
        for name in ("fixtures.LoudInitializer", "no.such.Class"):
            self.assert_denied(client.call, name, "touch")
        self.assertNotIn("LoudInitializer", self.peer.stdout())

    def logged(self, *parts):
        """The number of log lines that contain all of these."""
        return sum(all(part in line for part in parts) for line in self.peer.stderr().splitlines())

    def test_log_actions_write_a_line(self):
        client = self.serve_with(allow("fixtures.Calculator", "LOG_AND_ALLOW") + allow("fixtures.Config", "LOG_AND_DENY"))
        client.call(*ADD)
        self.assert_denied(client.get, "fixtures.Config", "VERSION")
        self.assertEqual(self.logged("fixtures.Calculator", "add", "ALLOW", "WEBSOCKET_RPC", "rule 1", " session=#"), 1)
        self.assertEqual(self.logged("fixtures.Config", "VERSION", "DENY"), 1)

    def test_a_line_names_the_class_that_was_meant_and_the_supertype_that_opened_it(self):
        heritage = "fixtures.heritage."
        client = self.serve_with(allow(heritage + "Heritage", members="STATIC_METHOD")
                                 + allow(heritage + "Open", "LOG_AND_ALLOW"), head="defaultAction: LOG_AND_DENY\n")
        hidden, name = client.call(heritage + "Heritage", "hidden"), heritage + "Heritage$Hidden"
        for kind in ({"type": name}, {}):  # a request that has an object may omit the class
            for _ in range(3):
                client.value("call", {**kind, "method": "read", "instance": hidden})
            self.assert_denied(client.value, "call", {**kind, "method": "secret", "instance": hidden})
        self.assert_denied(client.call, "no.such.Type", "secret", on=hidden)
        of_hidden = f'class="{name}" member='
        self.assertEqual(self.logged(of_hidden + '"read" verdict=ALLOW', f' supertype="{heritage}Open"'), 6)
        self.assertEqual(self.logged(of_hidden + '"secret" verdict=DENY'), 2)
        self.assertEqual(self.logged('member="secret" verdict=DENY'), 3)
        self.assertEqual(self.logged('member="secret"', "supertype"), 0)


class Allow(PeerCase):
    def test_a_default_on_the_command_line_wins(self):
        client = self.serve("--rpc-allow", "fixtures.**")  # and --rpc-default-action ALLOW
        self.assertEqual(client.call("java.lang.Math", "max", 3, 5), "5")
        self.assertIn("--rpc-default-action ALLOW allows more than what --rpc-allow names", self.peer.stderr())

    def test_the_variable(self):
        client = self.serve(allow=False, env=environment(JPEER_RPC_ALLOW="fixtures.Calculator"))
        self.assertEqual(client.call(*ADD), "3")
        self.assert_denied(client.new, "fixtures.Members")

    def test_metadata_shows_only_allowed_classes(self):
        client = self.serve("--rpc-allow", "fixtures.Members,fixtures.Outer$*", allow=False)
        self.assertNotIn("policy", self.peer.stderr())
        described = {one["className"]: one for one in fetch(client)}
        self.assertEqual(sorted(described), ["fixtures.Members", "fixtures.Outer$Inner", "fixtures.Outer$Nested"])
        for kind in ("constructors", "methods", "fields"):
            members = described["fixtures.Members"][kind]
            self.assertTrue(members and all("public" in member["modifiers"] for member in members), members)


class Refused(unittest.TestCase):
    """Invalid lists of patterns, and wildcards that match classes of the JDK. tests/unit/policy/test_allow.c has
    more."""

    def check(self, *texts, words=(), env=None):
        done = run_to_end("run", *words, "--as-service", env=env)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_invalid_patterns_are_refused(self):
        for pattern, *texts in (("fixtures..A", "has an empty segment"), ("fixtures/A", "has a '/'"),
                                ("**", "matches classes of the JDK: ", "jdk: before the pattern ('jdk:**')")):
            self.check(f"--rpc-allow: pattern '{pattern}'", *texts, words=("--rpc-allow", pattern))

    def test_the_error_names_the_members_that_the_pattern_would_allow(self):
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
    """Without a policy everything is denied, and errors name the members that must be allowed, so that a user
    can tell the operator."""

    def test_the_log_says_how_to_allow(self):
        self.assertIn("--rpc-allow 'com.example.**'", self.start(allow=False).stderr())

    def test_a_denial_is_short_where_nobody_can_allow_it_or_there_is_a_policy(self):
        for name, method, options in (("jpeer.peer.PeerThread", "run", ()), ("a.B", "c", ("--rpc-allow", "com.example.**")),
                                      ("a.B", "c", ("--rpc-default-action", "DENY"))):
            client = self.serve(*options, allow=False)
            self.assertEqual(self.assert_denied(client.call, name, method).detail,
                             f"RPC access denied: {name}.{method} via WEBSOCKET_RPC")
