"""Tests which interfaces a client's object may have: interfaces of other loaders and modules, interfaces that
the policy allows, and how many classes of proxies there may be."""

import itertools

from support.callback_client import CallbackClient
from support.clients import RpcError, ref, typed
from support.peer import eventually
from support.peer_case import CALLING, DENIED, CallbackCase, allow

CALLBACKS = "fixtures.Callbacks"
# Interfaces that can be combined: no two of their methods differ only in the type of the result.
INTERFACES = ("java.lang.Runnable", "java.util.Comparator", "java.util.concurrent.Callable", "java.util.function.Consumer",
              "java.util.function.Function", "java.util.function.IntPredicate", "java.util.function.LongConsumer")


class Interfaces(CallbackCase):
    """Interfaces of other loaders and modules. test_callback_members.py covers the interfaces of the application."""

    def test_an_interface_may_be_of_another_loader(self):
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

    def loader_of(self, *interfaces):
        """The name of the loader of a proxy's class."""
        proxy = self.client.call("java.util.Objects", "requireNonNull", self.client.give(interfaces=list(interfaces)))
        loader = self.client.call("java.lang.Class", "getClassLoader", on=self.client.call("java.lang.Object", "getClass", on=proxy))
        return loader and self.client.call("java.lang.ClassLoader", "getName", on=loader)

    def test_a_proxy_lives_in_the_loader_of_its_interface(self):
        """The proxy's class is in a loader that sees all of the interfaces, and the peer does not keep that loader
        alive."""
        for name in ("one", "two"):
            loader = self.client.call("fixtures.Loading", "own", name)
            self.client.call("fixtures.Loading$Own", "defineInterface", f"made.{name.title()}", on=loader)
        for interfaces, wanted in ((["java.lang.Runnable"], None), (["fixtures.Callbacks$Greeter"], "app"),
                                   (["made.One"], "one"), (["java.lang.Runnable", "made.One"], "one"),
                                   (["made.Two", "fixtures.Callbacks$Greeter"], "two")):
            self.assertEqual(self.loader_of(*interfaces), wanted)
        self.assert_fails(-32602, "no class loader of these interfaces finds all of them", self.loader_of, "made.One", "made.Two")
        self.client.control("delete_session")
        self.assertEqual(self.client.call("fixtures.Loading", "alive"), "0")

    def test_an_interface_may_be_of_another_module(self):
        """An interface of the platform's loader, and an interface of a package that its module does not export.
        """
        held = self.client.new("java.util.ArrayList")
        for index, (interface, method, args, result) in enumerate((
                ("java.sql.DriverAction", "deregister", [], None),
                ("sun.security.util.Length", "length", [], 5),
                ("java.util.logging.Filter", "isLoggable", [None], True))):
            self.client.call("java.util.ArrayList", "add", self.client.give(lambda call, value=result: value, type=interface),
                             on=held)
            proxy = self.client.call("java.util.ArrayList", "get", index, on=held)
            answer = self.client.call(interface, method, *args, on=proxy)
            self.assertEqual(answer, None if result is None else str(result).lower())


class Policies(CallbackCase):
    options = None
    RULES = (allow("java.util.concurrent.Callable", members="CALLBACK")
             + allow(CALLBACKS + "$Greeter", members="CALLBACK", method="name") + allow("fixtures.*", members="STATIC_METHOD")
             + allow("java.lang.IllegalStateException", members="CONSTRUCTOR") + allow("java.lang.System", method="gc"))

    def assert_implementing_denied(self, client, method, argument, denied):
        self.assert_denied(client.call, CALLBACKS, method, argument, text=denied)

    def may_give(self, client):
        try:
            return client.call(CALLING, "here", client.give(lambda call: "allowed", 7)) == "allowed"
        except RpcError as error:
            self.assertEqual(error.code, DENIED)
            return False

    def test_what_may_be_implemented(self):
        client = self.serve_with(self.RULES)
        self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "allowed")), "allowed")
        result = client.call(CALLBACKS, "greet", client.give(lambda call: "you"))
        self.assertEqual(result, "hello you, hello you HELLO YOU")
        self.assert_implementing_denied(client, "greet", client.give(overrides=["greet"]), "fixtures.Callbacks$Greeter.greet")
        self.assert_implementing_denied(client, "hidden", client.give(), "fixtures.Callbacks$Hidden.name")
        for named in ({"type": "com.example.Absent"}, {"interfaces": ["java.util.concurrent.Callable", "com.example.Absent"]}):
            self.assert_implementing_denied(client, "closed", client.give(**named), "com.example.Absent")
        for number in client.sent:
            client.await_released(number)

    def test_a_method_is_judged_by_the_interface_that_was_given(self):
        """A rule for the given interface counts, not only a rule for the interface that declares the method."""
        members, static = "fixtures.members.Callbacks", allow("fixtures.**", members="STATIC_METHOD")
        client = self.serve_with(static + allow(members + "$Lengths", members="CALLBACK"))
        self.assertEqual(client.call(members, "length", client.give(lambda call: 4)), "4")
        client = self.serve_with(static + allow("java.util.function.Function", members="CALLBACK"))
        self.assert_denied(client.call, members, "length", client.give(), text=members + "$Lengths.apply")

    def test_a_new_policy_is_asked_again(self):
        static, callback = allow("fixtures.*", members="STATIC_METHOD"), allow("java.util.concurrent.Callable", members="CALLBACK")
        client = self.serve_with(static + callback)
        client.call(CALLING, "keep", "f", client.give(number=7))
        for rules, is_allowed in ((static, False), (static + callback, True), (static, False)):
            self.put_policy(rules)
            eventually(lambda: self.may_give(client) == is_allowed)
            self.assertEqual(self.may_give(client), is_allowed)

    def test_what_may_be_thrown(self):
        """A denied class is reported like one that does not exist."""
        client = self.serve_with(self.RULES)
        for thrown, shown in (("java.lang.IllegalStateException", "IllegalStateException"),
                             ("java.lang.IllegalArgumentException", "CallbackException"),
                             ("com.example.Absent", "CallbackException")):
            begun = client.begin_call(CALLING, "here", client.give())
            client.await_call().fail("no", throwable_type=thrown)
            self.assertEqual(client.end(begun), f"{shown}: no")

    def test_an_object_of_a_client_is_called_only_through_an_allowed_interface(self):
        heritage, ran = "fixtures.heritage.Heritage", []
        client = self.serve_with(allow(heritage, members="STATIC_METHOD") + allow("java.lang.Runnable"))
        proxy = client.call(heritage, "same", client.give(lambda call: ran.append(call.method)))
        described = client.request("jpeer.describe", {"instance": ref(proxy)})["result"]
        name = described["class"]
        self.assertIn("$Proxy", name)
        self.assertIn("run", {method["name"] for method in described["methods"]})
        client.call(name, "run", on=proxy)
        self.assertEqual(ran, ["run"])
        self.assert_denied(client.call, name, "toString", on=proxy)
        self.assert_denied(client.call, name, "getInvocationHandler", ref(proxy))

    def test_no_policy_denies(self):
        client = self.serve("--rpc-default-action", "DENY", allow=False)
        self.assert_implementing_denied(client, "greet", client.give(), CALLBACKS)

    def test_patterns_allow(self):
        client = self.serve("--rpc-allow", "fixtures.**", allow=False)
        result = client.call(CALLBACKS, "greet", client.give(lambda call: "you"))
        self.assertEqual(result, "hello you, hello you HELLO YOU")
        self.assert_implementing_denied(client, "greet", client.give(interfaces=["java.lang.Runnable"]), "java.lang.Runnable")


class Classes(CallbackCase):
    """The proxy classes of callbacks, which the JVM keeps: one for a set of interfaces, and no more than the limit.
    """

    options = None

    def give_and_call(self, client, interfaces, **beside):
        return client.call(CALLING, "here", client.give(lambda call: "works", interfaces=list(interfaces), **beside))

    def name_of_class(self, client, interfaces, **beside):
        """Returns the name of the proxy's class. Java is asked for it, because the client would get its own object
        back."""
        there = client.call("java.util.Objects", "requireNonNull", client.give(interfaces=list(interfaces), **beside))
        return client.call("java.lang.Class", "getName", on=client.call("java.lang.Object", "getClass", on=there))

    def test_their_order_makes_no_other_class(self):
        self.start("--callback-classes-max", "2")
        client = self.connect(CallbackClient)
        names = {self.name_of_class(client, each) for each in itertools.permutations(INTERFACES[:4])}
        self.assertEqual(len(names), 1, names)
        names.add(self.name_of_class(client, INTERFACES[:4], overrides=["reversed"]))
        self.assertEqual(len(names), 1, names)
        self.assertEqual(self.give_and_call(client, reversed(INTERFACES[:4])), "works")

    def test_classes_above_the_limit_are_refused(self):
        self.start("--callback-classes-max", "2")
        client = self.connect(CallbackClient)
        other = self.connect(CallbackClient)
        self.assertEqual(self.give_and_call(client, INTERFACES[:3]), "works")
        self.assertEqual(self.give_and_call(other, INTERFACES[2:3]), "works")
        for each in (client, other):
            for _ in range(3):
                self.assert_fails(-32000, "callback-classes-max", self.give_and_call, each, INTERFACES[1:4])
            self.assertEqual(self.give_and_call(each, INTERFACES[2::-1]), "works")
            self.assertEqual(each.call(CALLING, "here", each.give(lambda call: "works")), "works")

    def test_what_cannot_be_made_does_not_count(self):
        self.start("--callback-classes-max", "1")
        client = self.connect(CallbackClient)
        for _ in range(3):
            with self.assertRaises(RpcError) as raised:  # two results of get()
                self.give_and_call(client, ("java.util.concurrent.Callable", "java.util.function.IntSupplier",
                                            "java.util.function.Supplier", "java.util.concurrent.Callable"))
            self.assertEqual(raised.exception.code, -32602)
        self.assertEqual(self.give_and_call(client, INTERFACES[2:3]), "works")

    def test_one_id_has_a_bounded_number_of_objects(self):
        """Each set of interfaces makes a new object of the ID. One ID has at most 256 objects, and does not delay
        other IDs."""
        self.start("--callback-classes-max", "600")
        client = self.connect(CallbackClient)
        held = client.new("java.util.ArrayList")
        names = (*INTERFACES, "java.util.function.BooleanSupplier", "java.lang.Cloneable")
        sets = [each for count in range(1, 10) for each in itertools.combinations(names, count)][:257]

        def give(interfaces, number=1):
            return client.call("java.util.ArrayList", "add", client.give(number=number, interfaces=list(interfaces)), on=held)

        for interfaces in sets[:256]:
            give(interfaces)
        with self.assertRaisesRegex(RpcError, "limit of 256 objects in Java of one callback") as raised:
            give(sets[256])
        self.assertEqual(raised.exception.code, -32000)
        give(sets[0])  # Java has an object with this set already
        give(sets[256], number=2)
        self.assertEqual(client.call("java.util.ArrayList", "size", on=held), "258")

    def test_many_interfaces_do_not_use_up_the_room_for_classes(self):
        """Callbacks of every order, and of sets up to the limit, do not disturb the calls of other clients."""
        self.start("-XX:MaxMetaspaceSize=48m", "--callback-classes-max", "50")
        attacker = self.connect(CallbackClient)
        other = self.connect(CallbackClient)
        orders = itertools.islice(itertools.permutations(INTERFACES), 1500)
        sets = (each for count in range(1, 8) for each in itertools.combinations(INTERFACES, count))
        refused = 0
        for interfaces in itertools.chain(orders, sets):
            try:
                attacker.call("java.util.Objects", "isNull", attacker.give(number=1, interfaces=list(interfaces)))
                attacker.call("java.util.Objects", "isNull", attacker.give(interfaces=list(interfaces)))
            except RpcError as error:
                self.assertIn(error.code, (-32000, -32602), error)
                refused += 1
        self.assertGreater(refused, 0)
        for number, type_name in enumerate(("java.util.TreeMap", "java.util.concurrent.ConcurrentSkipListMap",
                                            "java.util.concurrent.Phaser", "java.util.zip.CRC32C")):
            self.assertIsNotNone(other.new(type_name), type_name)
            self.assertEqual(other.call(CALLING, "echo", typed("int", number)), str(number))
