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
