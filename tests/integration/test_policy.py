"""The policy through the binary: a denial follows the member, on every transport, whatever name is used for it."""

from support.clients import HttpClient, WebSocketClient, ZmqClient, own_name, ref, typed
from support.peer_case import PeerCase, allow, deny

CHANNELS = {WebSocketClient: "WEBSOCKET_RPC", HttpClient: "HTTP_RPC", ZmqClient: "ZMQ_SOCKET_RPC"}
ALL_PRESETS = ("deny-unsafe,deny-jdk-internals,deny-classloading,deny-reflection,deny-serialization,deny-scripting,"
               "deny-nonpublic")
DISPATCH = "fixtures.dispatch.Dispatch"
SERIALIZED = [-84, -19, 0, 5, 116, 0, 2, 104, 105]  # the String "hi"
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

    def test_no_way_around_by_a_subclass_or_a_super_type(self):
        client = self.serve("--rpc-policy-preset", "deny-classloading,deny-unsafe", allow=False)
        self.assert_denied(client.call, "java.net.URLClassLoader", "newInstance", typed("java.net.URL[]", []))
        loader = client.call("fixtures.Spawner", "loader")
        self.assert_denied(client.call, "java.lang.ClassLoader", "loadClass", "java.lang.String", on=loader)
        self.assert_denied(client.call, "java.lang.Object", "toString", on=loader)
        self.assert_denied(client.new, "java.lang.ProcessBuilder", typed("String[]", ["true"]), text="ProcessBuilder.<init>")

    def assert_does_not_deserialise(self, client):
        data = client.new("java.io.ByteArrayInputStream", typed("byte[]", SERIALIZED))
        stream = client.new("sun.rmi.server.MarshalInputStream", {"type": "java.io.InputStream", "ref": data})
        for name in ("java.io.ObjectInput", "java.io.ObjectInputStream", "sun.rmi.server.MarshalInputStream"):
            self.assert_denied(client.call, name, "readObject", on=stream)
        self.assert_denied(own_name, client, "java.io.ObjectInput.readObject", ref(stream),
                           text="java.io.ObjectInput.readObject via")
        self.assertEqual(client.call("java.io.InputStream", "available", on=data), str(len(SERIALIZED) - 4))

    def test_an_interface_does_not_deserialise(self):
        self.start("--rpc-policy-preset", "deny-serialization", allow=False)
        for client in self.each(*CHANNELS):
            self.assert_does_not_deserialise(client)

    def test_nor_does_it_with_every_preset_and_a_stream_that_is_allowed(self):
        self.assert_does_not_deserialise(self.serve_with(
            allow("sun.rmi.server.MarshalInputStream", members="CONSTRUCTOR"), "--rpc-policy-preset", ALL_PRESETS,
            head=ELSE_ALLOWED))

    def test_overloads_are_candidates_by_channel(self):
        name = DISPATCH + "$Overloaded"
        client = self.serve_with(deny(name, visibility="PACKAGE_PRIVATE", channel="HTTP_RPC"), head=ELSE_ALLOWED)
        other = self.connect(HttpClient)
        one, two = client.new(name), other.new(name)
        for _ in range(4):
            self.assertEqual(client.call(name, "pick", typed("int", 5), on=one), "package int")
            self.assert_denied(other.call, name, "pick", typed("int", 5), on=two)
            self.assertNotIn("pick(int)", self.failure(other.call, name, "pick", 1, 2, 3, on=two).detail)

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

    def test_elements_are_judged_in_a_call_that_was_allowed_before(self):
        client = self.serve_with(allow(DISPATCH))
        for _ in range(3):
            self.assertEqual(client.call(DISPATCH, "all", typed("Object[]", [typed("String", "a")])), "1")
            for value in (typed("no.such.Thing", None), typed("fixtures.Color", "RED")):
                self.assert_denied(client.call, DISPATCH, "all", typed("Object[]", [value]), text=value["type"] + ".class via")

    def test_the_own_classes_are_always_denied(self):
        client = self.serve()
        thread = client.call("java.lang.Thread", "currentThread")
        for name, method in (("java.lang.Object", "getClass"), ("java.lang.Object", "toString"),
                             ("java.lang.Thread", "interrupt")):
            self.assert_denied(client.call, name, method, on=thread)

    def test_a_denied_class_is_not_loaded(self):
        client = self.serve_with(allow("fixtures.Calculator"))
        for name in ("fixtures.LoudInitializer", "no.such.Class"):
            self.assert_denied(client.call, name, "touch")
        self.assertNotIn("LoudInitializer", self.peer.stdout())

    def test_log_actions_write_a_line(self):
        client = self.serve_with(allow("fixtures.Calculator", "LOG_AND_ALLOW") + allow("fixtures.Config", "LOG_AND_DENY"))
        client.call(*ADD)
        self.assert_denied(client.get, "fixtures.Config", "VERSION")
        lines = self.peer.stderr().splitlines()
        for parts in (("fixtures.Calculator", "add", "ALLOW", "WEBSOCKET_RPC", "rule 1", " session=#"),
                      ("fixtures.Config", "VERSION", "DENY")):
            self.assertTrue([line for line in lines if all(part in line for part in parts)], lines)

    def test_the_command_line_wins_over_the_files_default(self):
        client = self.serve_with("", "--rpc-default-action", "DENY", head=ELSE_ALLOWED)
        self.assert_denied(client.call, *ADD)

    def test_arguments_that_name_a_class_are_checked(self):
        client = self.serve_with(deny("fixtures.LoudInitializer") + deny("fixtures.Color", method="BLUE"), head=ELSE_ALLOWED)
        self.assert_denied(client.call, "fixtures.Arguments", "takeClass", typed("Class", "fixtures.LoudInitializer"))
        self.assert_denied(client.call, "fixtures.Arguments", "takeColor", typed("fixtures.Color", "BLUE"))
        self.assertEqual(client.call("fixtures.Arguments", "takeColor", typed("fixtures.Color", "RED")), "plain0")

    def test_control_is_not_subject_to_it(self):
        self.start(allow=False)
        for client in self.each(*CHANNELS):
            client.control("ping")
            client.control("delete_session")
            self.assert_denied(client.new, "java.util.ArrayList")
