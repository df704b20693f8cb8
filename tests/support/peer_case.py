"""The common parts of tests of a running peer: a peer for the class or for the test, clients that the end of the test
closes, and assertions about errors."""

import contextlib
import functools
import os
import tempfile
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import jdks
from support.binary_client import BinaryClient, Raised
from support.callback_client import CallbackClient
from support.clients import RpcError, WebSocketClient
from support.peer import Peer

CALLING = "fixtures.Calling"
NOT_FOUND, INVALID, FAILED, DENIED = -32601, -32602, -32000, -32001
PING = {"jsonrpc": "2.0", "id": 1, "method": "control", "params": {"method": "ping"}}


def allow(name, action="ALLOW", **limits):
    """A rule of a policy file."""
    return "  - {" + ", ".join([f"class: '{name}'", f"action: {action}",
                                *(f"{key}: {value!r}" for key, value in limits.items())]) + "}\n"


def deny(name, **limits):
    return allow(name, "DENY", **limits)


def put_policy(path, rules, head=""):
    """Replaces the whole file at once, like a deployment."""
    new = path.with_suffix(".new")
    new.write_text("version: 1\n" + head + ("rules:\n" + rules if rules else ""), encoding="utf-8")
    os.replace(new, path)


def on_each_jdk(test):
    """Decorates a test that starts a peer with options: the test runs once for each JDK, at the same time, each run
    with its own test case."""
    @functools.wraps(test)
    def run(self):
        def run_on(home):
            case = type(self)(self._testMethodName)
            try:
                case.setUp()
                test(case, ("--jvm", str(home)))
                case._opened.close()  # raises the complaints of a peer, which doCleanups would only count
            finally:
                self.assertTrue(case.doCleanups(), "a cleanup failed")
        self.at_once(run_on, jdks.homes())
    return run


class PeerCase(unittest.TestCase):
    options = None       # options of the peer that the tests of the class share; None: each test starts a peer
    peer_arguments = {}  # the keyword arguments of that Peer
    rules = None         # of a policy file for it
    kind = WebSocketClient

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.options is None:
            return
        options, more = cls.options, cls.peer_arguments
        if cls.rules is not None:
            file = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-policy-")), "policy.yaml")
            put_policy(file, cls.rules)
            options, more = ("--rpc-policy", file, *options), {"allow": False, **more}
        cls.peer = cls.enterClassContext(Peer(*options, **more))

    def setUp(self):
        super().setUp()
        self._opened = contextlib.ExitStack()
        self.addCleanup(self._opened.close)
        self._client = None
        self._client_name = ""  # with which of several clients an assertion fails

    def at_once(self, run, cases):
        """Calls run(case) for each case, on a thread of its own. For tests that wait, and start their own peers."""
        cases = list(cases)
        with ThreadPoolExecutor(len(cases)) as pool:
            for case, one in [(case, pool.submit(run, case)) for case in cases]:
                with self.subTest(case=case):
                    one.result()

    # ---- peers ----

    def start(self, *options, **more):
        """Starts the test's own peer. An earlier peer is ended, and must be clean."""
        self._opened.close()
        self._client = None
        self.peer = self._opened.enter_context(Peer(*options, **more))
        return self.peer

    def start_with(self, rules, *options, head="", **more):
        """Like serve, with a policy file that has these rules."""
        return self.start("--rpc-policy", self.make_policy(rules, head), *options, allow=False, **more)

    def make_policy(self, rules, head=""):
        self.policy = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-policy-")), "policy.yaml")
        self.put_policy(rules, head)
        return self.policy

    def put_policy(self, rules, head=""):
        put_policy(self.policy, rules, head)

    # ---- clients ----

    def connect(self, kind=None, *arguments):
        return self._opened.enter_context((kind or self.kind)(self.peer, *arguments))

    @property
    def client(self):
        """The first client of a test. It is opened when the test first uses it."""
        if self._client is None:
            self._client = self.connect()
        return self._client

    def serve(self, *options, **more):
        """Starts a peer, and returns a client of this peer."""
        self.start(*options, **more)
        return self.client

    def serve_with(self, rules, *options, **more):
        self.start_with(rules, *options, **more)
        return self.client

    def each(self, *kinds):
        """A client of each kind, one after another."""
        for kind in kinds:
            with kind(self.peer) as client:
                self._client_name = f" ({kind.name})"
                yield client
        self._client_name = ""

    def _formatMessage(self, msg, standardMsg):
        return super()._formatMessage(msg, standardMsg) + self._client_name

    # ---- errors ----

    def failure(self, action, *args, **named):
        """The error that the action raises."""
        with self.assertRaises(RpcError) as raised:
            action(*args, **named)
        return raised.exception

    def assert_fails(self, code, text, action, *args, **named):
        error = self.failure(action, *args, **named)
        self.assertEqual(error.code, code, error)
        self.assertIn(text, error.detail)
        return error

    def assert_denied(self, action, *args, text="", **named):
        error = self.assert_fails(DENIED, text, action, *args, **named)
        self.assertEqual(error.message, "RPC access denied")
        return error

    def raised_by(self, action, *args, **named):
        """The throwable in the answer to a binary message, or to an action of a client that sends binary
        messages."""
        with self.assertRaises(Raised) as raised:
            action(*args, **named) if callable(action) else self.client.run(action)
        return raised.exception

    def assert_raised(self, message, type_name, text=""):
        raised = self.raised_by(message)
        self.assertEqual(raised.type, type_name)
        self.assertIn(text, raised.text)
        return raised


class BinaryCase(PeerCase):
    """Tests whose clients send binary messages."""

    options = ()
    kind = BinaryClient


class CallbackCase(PeerCase):
    """Tests whose clients have callbacks, which fixtures.Calling calls."""

    options = ()
    kind = CallbackClient

    def connect_again(self, count=2):
        """Connections of one session."""
        session = {"peer-id": str(uuid.uuid4())}
        return [self.connect(CallbackClient, session) for _ in range(count)]

    def call(self, method, *args, **more):
        return self.client.call(CALLING, method, *args, **more)

    def begin(self, client, method="here", **beside):
        """A request that waits in a callback: its id, and the call."""
        begun = client.begin_call(CALLING, method, client.give(**beside))
        return begun, client.await_call()

    def outcome(self):
        """The outcome of a callback of a Java thread."""
        with WebSocketClient(self.peer) as other:
            return other.call(CALLING, "outcome")

    def assert_serves(self, client=None):
        client = client or self.client
        self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "still")), "still")
