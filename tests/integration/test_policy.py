"""The policy through the binary: a denial follows the member, on every transport, whatever name is used for it."""

import tempfile
import unittest

from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, typed
from support.peer import Peer

CHANNELS = ((WebSocketClient, "WEBSOCKET_RPC"), (HttpClient, "HTTP_RPC"), (ZmqClient, "ZMQ_SOCKET_RPC"))


def policy_file(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
    file.write(text)
    file.flush()
    return file


ALL_PRESETS = ("deny-unsafe,deny-jdk-internals,deny-classloading,deny-reflection,deny-serialization,deny-scripting,"
               "deny-nonpublic")
DISPATCH = "fixtures.dispatch.Dispatch"
SERIALIZED = [-84, -19, 0, 5, 116, 0, 2, 104, 105]  # the String "hi"


def own_name(client, method, *params):
    """Calls a member by its own name."""
    reply = client.request(method, list(params))
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"]


class Policy(unittest.TestCase):
    def assert_denied(self, action, *texts):
        with self.assertRaises(RpcError) as raised:
            action()
        self.assertEqual(raised.exception.code, -32001)
        self.assertEqual(raised.exception.message, "RPC access denied")
        for text in texts:
            self.assertIn(text, raised.exception.detail)

    def test_a_channel_of_its_own(self):
        with policy_file("version: 1\nrules:\n  - class: fixtures.Calculator\n    action: ALLOW\n"
                         "    channel: WEBSOCKET_RPC\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer:
                for transport, channel in CHANNELS:
                    with transport(peer) as client:
                        if channel == "WEBSOCKET_RPC":
                            self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
                        else:
                            self.assert_denied(lambda c=client: c.call("fixtures.Calculator", "add", 1, 2),
                                               f"fixtures.Calculator.add via {channel}")

    def test_no_way_around_by_a_subclass_or_a_super_type(self):
        with Peer("--rpc-policy-preset", "deny-classloading,deny-unsafe", allow=False) as peer:
            with WebSocketClient(peer) as client:
                self.assert_denied(lambda: client.call("java.net.URLClassLoader", "newInstance", typed("java.net.URL[]", [])))
                loader = client.call("fixtures.Spawner", "loader")
                self.assert_denied(lambda: client.call("java.lang.ClassLoader", "loadClass", "java.lang.String", on=loader))
                self.assert_denied(lambda: client.call("java.lang.Object", "toString", on=loader))
                builder = "java.lang.ProcessBuilder"
                self.assert_denied(lambda: client.new(builder, typed("String[]", ["true"])), f"{builder}.<init>")

    def test_an_interface_is_no_way_around(self):
        with policy_file("version: 1\ndefaultAction: ALLOW\nrules:\n  - class: fixtures.Circle\n    action: DENY\n"
                         "    members: METHOD\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer, WebSocketClient(peer) as client:
                circle = client.new("fixtures.Circle", 1.0)
                for name in ("fixtures.Circle", "fixtures.Shape", "fixtures.AbstractShape"):
                    self.assert_denied(lambda n=name: client.call(n, "area", on=circle))

    def assert_does_not_deserialise(self, client):
        data = client.new("java.io.ByteArrayInputStream", typed("byte[]", SERIALIZED))
        stream = client.new("sun.rmi.server.MarshalInputStream", {"type": "java.io.InputStream", "ref": data})
        for name in ("java.io.ObjectInput", "java.io.ObjectInputStream", "sun.rmi.server.MarshalInputStream"):
            self.assert_denied(lambda n=name: client.call(n, "readObject", on=stream))
        self.assert_denied(lambda: own_name(client, "java.io.ObjectInput.readObject", {"ref": stream}),
                           "java.io.ObjectInput.readObject via")
        self.assertEqual(client.call("java.io.InputStream", "available", on=data), str(len(SERIALIZED) - 4))

    def test_an_interface_does_not_deserialise(self):
        with Peer("--rpc-policy-preset", "deny-serialization", allow=False) as peer:
            for transport, _ in CHANNELS:
                with transport(peer) as client:
                    self.assert_does_not_deserialise(client)

    def test_nor_does_it_with_every_preset_and_a_stream_that_is_allowed(self):
        with policy_file("version: 1\ndefaultAction: ALLOW\nrules:\n  - class: sun.rmi.server.MarshalInputStream\n"
                         "    action: ALLOW\n    members: [CONSTRUCTOR]\n") as file:
            with Peer("--rpc-policy", file.name, "--rpc-policy-preset", ALL_PRESETS, allow=False) as peer:
                with WebSocketClient(peer) as client:
                    self.assert_does_not_deserialise(client)

    def test_every_preset_leaves_paths_and_lists_usable(self):
        with Peer("--rpc-policy-preset", ALL_PRESETS, allow=False) as peer, WebSocketClient(peer) as client:
            path = client.call("java.nio.file.Path", "of", "/tmp/x", typed("String[]", []))
            self.assertEqual(client.call("java.nio.file.Path", "toString", on=path), "/tmp/x")
            self.assertEqual(own_name(client, "java.nio.file.Path.toString", {"ref": path}), "/tmp/x")
            self.assertEqual(client.call("sun.nio.fs.UnixPath", "toString", on=path), "/tmp/x")  # by Path's name
            self.assert_denied(lambda: client.call("sun.nio.fs.UnixPath", "toByteArray", on=path))
            listed = client.call("java.util.List", "of", 1, 2)
            self.assertEqual(client.call("java.util.List", "size", on=listed), "2")

    def test_overloads_are_candidates_by_channel(self):
        with policy_file("version: 1\ndefaultAction: ALLOW\nrules:\n  - class: " + DISPATCH + "$Overloaded\n"
                         "    visibility: [PACKAGE_PRIVATE]\n    channel: HTTP_RPC\n    action: DENY\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer:
                with WebSocketClient(peer) as client, HttpClient(peer) as other:
                    pick = (DISPATCH + "$Overloaded", "pick", typed("int", 5))
                    one, two = client.new(DISPATCH + "$Overloaded"), other.new(DISPATCH + "$Overloaded")
                    for _ in range(4):
                        self.assertEqual(client.call(*pick, on=one), "package int")
                        self.assert_denied(lambda: other.call(*pick, on=two))
                        with self.assertRaises(RpcError) as raised:
                            other.call(DISPATCH + "$Overloaded", "pick", 1, 2, 3, on=two)
                        self.assertNotIn("pick(int)", raised.exception.detail)

    def test_a_type_that_is_denied_is_not_loaded(self):
        policy = f"version: 1\nrules:\n  - class: {DISPATCH}\n    action: ALLOW\n"
        for rule, is_loaded in (("", False), ("  - class: fixtures.Color\n    action: ALLOW\n", True)):
            with policy_file(policy + rule) as file:
                with Peer("-J", "-Xlog:class+load", "--rpc-policy", file.name, allow=False) as peer:
                    with WebSocketClient(peer) as client:
                        for value in (typed("fixtures.Color", None), typed("fixtures.Color[][]", []),
                                      typed("List", [typed("fixtures.Color", None)])):
                            def send(argument=value):
                                return client.call(DISPATCH, "any", argument)
                            if is_loaded:
                                send()
                            else:
                                self.assert_denied(send, "RPC access denied: fixtures.Color.class via WEBSOCKET_RPC")
                    self.assertEqual("fixtures.Color " in peer.stdout(), is_loaded)

    def test_elements_are_judged_in_a_call_that_was_allowed_before(self):
        with policy_file(f"version: 1\nrules:\n  - class: {DISPATCH}\n    action: ALLOW\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer, WebSocketClient(peer) as client:
                for _ in range(3):
                    self.assertEqual(client.call(DISPATCH, "all", typed("Object[]", [typed("String", "a")])), "1")
                    for value in (typed("no.such.Thing", None), typed("fixtures.Color", "RED")):
                        self.assert_denied(lambda v=value: client.call(DISPATCH, "all", typed("Object[]", [v])),
                                           value["type"] + ".class via")

    def test_the_own_classes_are_always_denied(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            thread = client.call("java.lang.Thread", "currentThread")
            for method in ("getClass", "toString"):
                self.assert_denied(lambda m=method: client.call("java.lang.Object", m, on=thread))
            self.assert_denied(lambda: client.call("java.lang.Thread", "interrupt", on=thread))

    def test_a_denied_class_is_not_loaded(self):
        with policy_file("version: 1\nrules:\n  - class: fixtures.Calculator\n    action: ALLOW\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer, WebSocketClient(peer) as client:
                self.assert_denied(lambda: client.call("fixtures.LoudInitializer", "touch"))
                self.assert_denied(lambda: client.call("no.such.Class", "method"))
                self.assertNotIn("LoudInitializer", peer.stdout())

    def test_log_actions_write_a_line(self):
        with policy_file("version: 1\nrules:\n  - class: fixtures.Calculator\n    action: LOG_AND_ALLOW\n"
                         "  - class: fixtures.Config\n    action: LOG_AND_DENY\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer, WebSocketClient(peer) as client:
                client.call("fixtures.Calculator", "add", 1, 2)
                self.assert_denied(lambda: client.get("fixtures.Config", "VERSION"))
                lines = peer.stderr().splitlines()
                self.assertTrue([l for l in lines if "fixtures.Calculator" in l and "add" in l and "ALLOW" in l
                                 and "WEBSOCKET_RPC" in l and "rule 1" in l and " session=#" in l], lines)
                self.assertTrue([l for l in lines if "fixtures.Config" in l and "VERSION" in l and "DENY" in l], lines)

    def test_the_command_line_wins_over_the_files_default(self):
        with policy_file("version: 1\ndefaultAction: ALLOW\n") as file:
            with Peer("--rpc-policy", file.name, "--rpc-default-action", "DENY", allow=False) as peer:
                with WebSocketClient(peer) as client:
                    self.assert_denied(lambda: client.call("fixtures.Calculator", "add", 1, 2))

    def test_arguments_that_name_a_class_are_checked(self):
        with policy_file("version: 1\ndefaultAction: ALLOW\nrules:\n  - class: fixtures.LoudInitializer\n"
                         "    action: DENY\n  - class: fixtures.Color\n    method: BLUE\n    action: DENY\n") as file:
            with Peer("--rpc-policy", file.name, allow=False) as peer, WebSocketClient(peer) as client:
                self.assert_denied(lambda: client.call("fixtures.Arguments", "takeClass",
                                                       typed("Class", "fixtures.LoudInitializer")))
                self.assert_denied(lambda: client.call("fixtures.Arguments", "takeColor", typed("fixtures.Color", "BLUE")))
                self.assertEqual(client.call("fixtures.Arguments", "takeColor", typed("fixtures.Color", "RED")), "plain0")

    def test_control_is_not_subject_to_it(self):
        with Peer(allow=False) as peer:
            for transport, _ in CHANNELS:
                with transport(peer) as client:
                    client.control("ping")
                    client.control("delete_session")
                    self.assert_denied(lambda c=client: c.new("java.util.ArrayList"))


if __name__ == "__main__":
    unittest.main()
