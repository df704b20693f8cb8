"""What Java sees of a client's object: interfaces of all kinds, default methods, maps, misuse; and what a policy says."""

import tempfile
import unittest

from support.callback_client import CallbackClient
from support.clients import RpcError
from support.peer import Peer

CALLING = "fixtures.Calling"
CALLBACKS = "fixtures.Callbacks"


class Interfaces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def setUp(self):
        self.client = CallbackClient(self.peer)
        self.addCleanup(self.client.close)

    def call(self, method, *args):
        return self.client.call(CALLBACKS, method, *args)

    def assert_refused(self, code, why, method, *args):
        with self.assertRaises(RpcError) as raised:
            self.client.call(*method, *args)
        self.assertEqual(raised.exception.code, code)
        self.assertIn(why, raised.exception.detail)

    def test_one_that_is_not_public(self):
        self.assertEqual(self.call("hidden", self.client.give(lambda call: "you")), "youyou")
        self.assertEqual(self.call("hidden", self.client.give(lambda call: "twice", overrides=["twice"])), "twice")

    def test_a_sealed_one(self):
        self.assert_refused(-32602, "is sealed", (CALLBACKS, "closed"), self.client.give())

    def test_no_interface(self):
        anything = ("java.util.Objects", "requireNonNull")
        self.assert_refused(-32602, "java.lang.ClassLoader is none", anything, self.client.give(type="java.lang.ClassLoader"))
        self.assert_refused(-32602, "java.lang.ClassLoader is no interface", anything,
                            self.client.give(interfaces=["java.lang.ClassLoader", "java.lang.Runnable"]))
        self.assert_refused(-32601, "No matching method", anything, self.client.give())
        self.assert_refused(-32601, "No matching method", (CALLBACKS, "hidden"), self.client.give(type="java.lang.Runnable"))

    def test_results_of_type_variables(self):
        def function(call):
            return 40 if call.method == "make" else len(call.args[0])
        self.assertEqual(self.call("lengths", self.client.give(function)), "44")

    def test_default_methods_call_abstract_ones(self):
        asked = []

        def function(call):
            asked.append((call.interface, call.method))
            return "you" if call.method == "name" else "greetings"
        self.assertEqual(self.call("greet", self.client.give(function)), "hello you, hello you HELLO YOU")
        self.assertEqual(asked, [(f"{CALLBACKS}$Greeter", "name")] * 3)
        asked.clear()
        self.assertEqual(self.call("greet", self.client.give(function, overrides=["greet"])),
                         "greetings, greetings GREETINGS")
        self.assertEqual(asked, [(f"{CALLBACKS}$Greeter", "greet")] * 3)

    def test_checked_exceptions(self):
        for declared, caught in ((True, "caught no"), (False, "undeclared no")):
            begun = self.client.begin_call(CALLBACKS, "throwing", self.client.give(), declared)
            self.client.await_call().fail("no", throwable_type="java.io.IOException")
            self.assertEqual(self.client.end(begun), caught)

    def test_of_another_loader(self):
        loader = self.client.call("fixtures.Loading", "own", "other")
        heard = self.client.give(lambda call: f"heard {call.args[0]}", type="beyond.Listener")

        def hear():
            return self.client.checked("call", {"type": CALLBACKS, "method": "hear", "args": [heard, "it"]},
                                       options={"loader": loader})
        self.assertEqual(hear(), "heard it")
        self.assertEqual(hear(), "heard it")
        both = self.client.give(lambda call: "both", interfaces=["beyond.Listener", "java.util.concurrent.Callable"])
        said = self.client.checked("call", {"type": CALLBACKS, "method": "hear", "args": [both, "it"]},
                                   options={"loader": loader})
        self.assertEqual(said, "both")

    def test_of_other_modules(self):
        """Of one that is loaded by the platform's loader, and of a package that its module does not export."""
        held = self.client.new("java.util.ArrayList")
        for index, (interface, method, args, result) in enumerate((
                ("java.sql.DriverAction", "deregister", [], None),
                ("sun.security.util.Length", "length", [], 5),
                ("java.util.logging.Filter", "isLoggable", [None], True))):
            self.client.call("java.util.ArrayList", "add", self.client.give(lambda call, told=result: told, type=interface),
                             on=held)
            proxy = self.client.call("java.util.ArrayList", "get", index, on=held)
            answer = self.client.call(interface, method, *args, on=proxy)
            self.assertEqual(answer, None if result is None else str(result).lower())

    def test_keys_of_a_map(self):
        give = self.client.give
        told = self.client.call(CALLING, "asKeys", give(number=7), give(number=7), give(number=8))
        self.assertEqual(told, "same other 2 false callback 7")
        self.assertEqual(self.client.held, [])

    def test_a_handler_that_is_misused(self):
        told = self.client.call(CALLING, "misuse", self.client.give(lambda call: 5), self.client.give())
        refused = "IllegalArgumentException"
        self.assertEqual(told.split(), [refused] * 5 + ["CallbackException"] * 2 + ["5"])


class Policies(unittest.TestCase):
    RULES = """version: 1
rules:
  - {class: java.util.concurrent.Callable, members: CALLBACK, action: ALLOW}
  - {class: "fixtures.Callbacks$Greeter", members: CALLBACK, method: name, action: ALLOW}
  - {class: "fixtures.*", members: [STATIC_METHOD], action: ALLOW}
  - {class: java.lang.IllegalStateException, members: CONSTRUCTOR, action: ALLOW}
  - {class: java.lang.System, method: gc, action: ALLOW}
"""

    def start(self, *options):
        peer = Peer(*options, allow=False)
        self.addCleanup(peer.__exit__, None, None, None)
        client = CallbackClient(peer)
        self.addCleanup(client.close)
        return client

    def assert_denied(self, client, method, argument, denied):
        with self.assertRaises(RpcError) as raised:
            client.call(CALLBACKS, method, argument)
        self.assertEqual(raised.exception.code, -32001, method)
        self.assertIn(denied, raised.exception.detail)

    def start_with_rules(self):
        file = self.enterContext(tempfile.NamedTemporaryFile("w", suffix=".yaml"))
        file.write(self.RULES)
        file.flush()
        return self.start("--rpc-policy", file.name)

    def test_what_may_be_implemented(self):
        client = self.start_with_rules()
        self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "allowed")), "allowed")
        told = client.call(CALLBACKS, "greet", client.give(lambda call: "you"))
        self.assertEqual(told, "hello you, hello you HELLO YOU")
        self.assert_denied(client, "greet", client.give(overrides=["greet"]), "fixtures.Callbacks$Greeter.greet")
        self.assert_denied(client, "hidden", client.give(), "fixtures.Callbacks$Hidden.name")
        self.assert_denied(client, "closed", client.give(type="com.example.Absent"), "com.example.Absent")
        for number in client.sent:
            client.await_released(number)

    def test_what_may_be_thrown(self):
        """What is denied is told like what is not there."""
        client = self.start_with_rules()
        for thrown, told in (("java.lang.IllegalStateException", "IllegalStateException"),
                             ("java.lang.IllegalArgumentException", "CallbackException"),
                             ("com.example.Absent", "CallbackException")):
            begun = client.begin_call(CALLING, "here", client.give())
            client.await_call().fail("no", throwable_type=thrown)
            self.assertEqual(client.end(begun), f"{told}: no")

    def test_no_policy_denies(self):
        client = self.start("--rpc-default-action", "DENY")
        self.assert_denied(client, "greet", client.give(), CALLBACKS)

    def test_patterns_allow(self):
        client = self.start("--rpc-allow", "fixtures.**")
        told = client.call(CALLBACKS, "greet", client.give(lambda call: "you"))
        self.assertEqual(told, "hello you, hello you HELLO YOU")
        self.assert_denied(client, "greet", client.give(interfaces=["java.lang.Runnable"]), "java.lang.Runnable")


if __name__ == "__main__":
    unittest.main()
