"""Code and clients that attack the peer's own threads: other clients notice nothing, and a signal still ends the
peer."""

import json
import signal

from support.clients import RpcError, WebSocketClient, await_running, ref
from support.peer import Peer
from support.peer_case import PeerCase, on_each_jdk

PRESETS = ("deny-unsafe,deny-jdk-internals,deny-classloading,deny-reflection,deny-serialization,deny-scripting,"
           "deny-nonpublic")
CLIENTS = 20


def try_call(client, type_name, method, *args, on=None):
    """Tries an attack. It may be denied or throw, but must do no harm."""
    try:
        return client.call(type_name, method, *args, on=on)
    except RpcError:
        return None


def group_of_calls(client):
    """The group of threads that application code makes; the peer's own threads are closed to clients."""
    return client.call("java.lang.Thread", "getThreadGroup", on=client.new("java.lang.Thread"))


class Sleepers:
    """Other users of the peer: clients that each have a call inside Java."""

    def __init__(self, peer):
        self.clients = [WebSocketClient(peer) for _ in range(CLIENTS)]

    def begin(self, type_name, method, *args):
        for number, client in enumerate(self.clients):
            client.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "call",
                                    "params": {"type": type_name, "method": method, "args": list(args)}}))

    def answers(self):
        return [json.loads(client.receive()) for client in self.clients]


class Intruders(PeerCase):
    def check_undisturbed(self, sleepers):
        for number, answer in enumerate(sleepers.answers()):
            self.assertEqual(answer, {"jsonrpc": "2.0", "id": number, "result": {"void": True}})

    @on_each_jdk
    def test_a_client_cannot_run_a_thread_of_the_peer_again(self, options):
        with Peer(*options, "--rpc-policy-preset", PRESETS) as peer:
            sleepers, client = Sleepers(peer), WebSocketClient(peer)
            for _ in range(10):
                sleepers.begin("java.lang.Thread", "sleep", 50)
                mine = client.call("java.lang.Thread", "currentThread")
                try:
                    wrapper = client.new("java.lang.Thread", ref(mine))
                except RpcError:
                    wrapper = None
                if wrapper is not None:
                    try_call(client, "java.lang.Thread", "start", on=wrapper)
                try_call(client, "java.util.concurrent.CompletableFuture", "runAsync", ref(mine))
                try_call(client, "java.lang.Thread", "run", on=mine)
                self.check_undisturbed(sleepers)
            self.assertEqual(peer.stop(), 0)

    @on_each_jdk
    def test_called_code_cannot_use_the_peers_classes(self, options):
        for presets in ((), ("--rpc-policy-preset", PRESETS)):
            with Peer(*options, *presets) as peer:
                sleepers, client = Sleepers(peer), WebSocketClient(peer)
                sleepers.begin("fixtures.Blockers", "pass")
                await_running(client, CLIENTS)
                self.assertEqual(client.call("fixtures.Intruder", "runMyself"), "1")
                tried = client.call("fixtures.Intruder", "runsTried")
                self.assertGreater(int(tried), 5 * CLIENTS)
                self.assertGreaterEqual(int(client.call("fixtures.Intruder", "runAgain")), 5 * CLIENTS)
                for attack in ("callEach", "callHandles", "makeThreads", "changeLoaders"):
                    self.assertEqual(client.call("fixtures.Intruder", attack), "0", attack)
                client.call("fixtures.Blockers", "open")
                for number, answer in enumerate(sleepers.answers()):
                    self.assertEqual((answer["id"], answer["result"]["value"]["value"]), (number, "1"))
                self.assertEqual(peer.stop(), 0)


class Groups(PeerCase):
    """Without a policy preset, what code can do to the threads of a thread group, from its own group up to the root."""

    def check(self, options, *methods, end=signal.SIGTERM):
        peer = self.start(*options)
        sleepers, client = Sleepers(peer), WebSocketClient(peer)
        sleepers.begin("fixtures.Blockers", "pass")
        await_running(client, CLIENTS)
        group = group_of_calls(client)
        while group is not None:
            for method in methods:
                try_call(client, "java.lang.ThreadGroup", method, on=group)
            group = client.call("java.lang.ThreadGroup", "getParent", on=group)
        self.assertEqual(client.call("fixtures.Blockers", "running"), str(CLIENTS))
        client.call("fixtures.Blockers", "open")
        for number, answer in enumerate(sleepers.answers()):
            self.assertEqual((answer["id"], answer["result"]["value"]["value"]), (number, "1"))
        with WebSocketClient(peer) as another:
            another.control("ping")
            self.assertEqual(another.call("fixtures.Calculator", "add", 1, 2), "3")
        self.assertEqual(peer.stop(end), 0)

    @on_each_jdk
    def test_suspended_groups_stop_neither_the_peer_nor_its_end(self, options):
        for end in (signal.SIGTERM, signal.SIGINT):
            self.check(options, "suspend", end=end)

    @on_each_jdk
    def test_interrupted_groups_reach_no_other_call(self, options):
        self.check(options, "interrupt", "setDaemon", "destroy")

    @on_each_jdk
    def test_stopped_groups_reach_no_other_call(self, options):
        self.check(options, "stop")

    @on_each_jdk
    def test_threads_of_called_code_are_the_applications(self, options):
        with Peer(*options) as peer, WebSocketClient(peer) as client:
            self.assertEqual(client.call("fixtures.Intruder", "groupOfNewThreads"), "main")
            if client.call("java.lang.System", "getProperty", "java.specification.version") in ("17", "18"):
                self.assertEqual(client.call("fixtures.Intruder", "listedThreads"), "0")

    @on_each_jdk
    def test_a_group_whose_lock_is_held_keeps_the_peer_neither_from_growing_nor_from_ending(self, options):
        with Peer(*options, "--rpc-threads", "1") as peer:
            client = WebSocketClient(peer)
            client.call("fixtures.Intruder", "holdGroups")
            sleepers = Sleepers(peer)
            sleepers.begin("fixtures.Blockers", "pass")
            await_running(client, CLIENTS)
            client.call("fixtures.Blockers", "open")
            self.assertEqual(len(sleepers.answers()), CLIENTS)
            self.assertEqual(peer.stop(), 0)

    @on_each_jdk
    def test_a_group_that_is_destroyed_does_not_keep_the_peer_from_growing(self, options):
        with Peer(*options, "--rpc-threads", "1") as peer:
            client = WebSocketClient(peer)
            group = group_of_calls(client)
            try_call(client, "java.lang.ThreadGroup", "setDaemon", True, on=group)
            try_call(client, "java.lang.ThreadGroup", "destroy", on=group)
            sleepers = Sleepers(peer)
            sleepers.begin("fixtures.Blockers", "pass")
            await_running(client, CLIENTS)
            self.assertEqual(client.call("fixtures.Intruder", "groupOfNewThreads"), "main")
            client.call("fixtures.Blockers", "open")
            self.assertEqual(len(sleepers.answers()), CLIENTS)
            self.assertEqual(peer.stop(), 0)
