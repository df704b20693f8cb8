"""A public method of an object, by the name of a class that is not allowed, where a supertype of the object is: what that
opens, and nothing else (docs/policy.md, "A supertype in place of the class")."""

import json

from support.binary_client import DENIED as DENIED_TYPE
from support.binary_client import BinaryClient, Raised
from support.callback_client import CallbackClient
from support.clients import HttpClient, WebSocketClient, ZmqClient, own_name, ref, typed
from support.peer import eventually
from support.peer_case import DENIED, PeerCase, allow, deny

PACKAGE = "fixtures.heritage."
HERITAGE, OPEN = PACKAGE + "Heritage", PACKAGE + "Open"
HIDDEN, BELOW, CLOSED, SECRETIVE, LOUDER = (f"{HERITAGE}${name}" for name in (
    "Hidden", "Below", "Closed", "Secretive", "Louder"))
MAKER = allow(HERITAGE, members="STATIC_METHOD")
OPENED = MAKER + allow(OPEN)
OBJECT = allow("java.lang.Object")


class SupertypeCase(PeerCase):
    def made(self, what="hidden", client=None):
        return (client or self.client).call(HERITAGE, what)

    def assert_gives(self, wanted, name, method, *args, on):
        self.assertEqual(self.client.call(name, method, *args, on=on), wanted)

    def assert_closed(self, name, method, *args, on, client=None):
        """In call form and by its own name."""
        client, text = client or self.client, f"RPC access denied: {name}.{method} via"
        self.assert_denied(client.call, name, method, *args, on=on, text=text)
        self.assert_denied(own_name, client, f"{name}.{method}", ref(on), *args, text=text)


class AnAllowedInterface(SupertypeCase):
    """One peer, whose policy allows the interface Open alone, beside what makes the objects."""

    options = ()
    rules = OPENED + allow("fixtures.Spawner")

    def test_its_methods_are_open_by_the_name_of_each_class(self):
        for client in self.each(WebSocketClient, ZmqClient, HttpClient):
            hidden, below = client.call(HERITAGE, "hidden"), client.call(HERITAGE, "below")
            for _ in range(4):  # the verdict is kept from the second one on
                for name, method, on, wanted in ((HIDDEN, "read", hidden, "Hidden"), (BELOW, "read", below, "Below"),
                                                 (HIDDEN, "read", below, "Below"), (HIDDEN, "greet", hidden, "Open"),
                                                 (HIDDEN, "give", hidden, "given")):
                    self.assertEqual(client.call(name, method, on=on), wanted)
                    self.assertEqual(own_name(client, f"{name}.{method}", ref(on)), wanted)
                self.assertEqual(client.request(HIDDEN + ".read", {"instance": ref(hidden)})["result"], "Hidden")

    def test_binary_messages(self):
        client = self.connect(BinaryClient)
        hidden = client.call(HERITAGE, "hidden")
        for _ in range(3):
            self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
            for name, method in ((HIDDEN, "secret"), (BELOW, "read"), ("no.such.Type", "read")):
                with self.assertRaises(Raised, msg=name) as raised:
                    client.call(name, method, on=hidden)
                self.assertEqual(raised.exception.type, DENIED_TYPE)

    def test_what_the_interface_does_not_declare(self):
        hidden = self.made()
        for _ in range(2):
            for name in ("secret", "guarded", "local", "plain", "compareTo", "nothing", "hashCode", "greeting"):
                self.assert_closed(HIDDEN, name, on=hidden)
            for argument in (typed("int", 3), 3):
                self.assert_denied(self.client.call, HIDDEN, "read", argument, on=hidden)
            # Open's method takes an Object. That one alone is open, not take(String).
            self.assert_gives("took x", HIDDEN, "take", "x", on=hidden)
            self.assertNotIn("String)", self.failure(self.client.call, HIDDEN, "take", 1, 2, on=hidden).detail)

    def test_no_constructor_static_member_or_field(self):
        client, hidden = self.client, self.made()
        for name in (HIDDEN, PACKAGE + "Ancestor"):
            self.assert_denied(client.new, name)
        for method in ("greeting", "read"):
            self.assert_denied(client.call, HIDDEN, method)
        self.assert_denied(client.get, HIDDEN, "field", on=hidden)
        self.assert_denied(client.put, HIDDEN, "field", "x", on=hidden)

    def test_a_name_that_is_none_of_the_objects(self):
        call, hidden = self.client.call, self.made()
        for name in (BELOW, "java.lang.Thread", "java.util.List", "no.such.Type", "fixtures.LoudInitializer"):
            self.assert_closed(name, "read", on=hidden)
        # Nor does an unknown object, or arguments that are wrong, tell more.
        for name in (HIDDEN, "no.such.Type"):
            self.assert_denied(call, name, "read", on=123456)
        for argument in (ref(99999), typed("no.such.Type", None)):
            self.assert_denied(call, HIDDEN, "secret", argument, on=hidden)

    def test_descriptions_of_the_object_alone_list_them(self):
        told = self.client.request("jpeer.describe", {"instance": ref(self.made())})["result"]
        self.assertEqual({(method["name"], *(each["type"] for each in method["parameters"])) for method in told["methods"]},
                         {("read",), ("give",), ("greet",), ("take", "T")})
        self.assertEqual((told["fields"], told["constructors"]), ([], []))
        self.assertEqual(self.client.request("jpeer.describe", {"type": HIDDEN})["error"]["code"], DENIED)
        listed = self.client.request("meta", {"method": "fetch_classes_info", "args": [
            {"name": "include_classes", "value": PACKAGE + "**"}]})
        self.assertNotIn(HIDDEN, str(listed))

    def test_an_overload_beside_a_generic_method(self):
        closed = self.made("closed")
        for given in ("x", typed("java.lang.CharSequence", "x"), typed("java.lang.String", "x")):
            self.assert_gives("took x", CLOSED, "take", given, on=closed)
            self.assertEqual(own_name(self.client, CLOSED + ".take", ref(closed), "x"), "took x")
        self.assert_denied(own_name, self.client, CLOSED + ".take(CharSequence)", ref(closed), "x")

    def test_a_class_that_inherits_the_method_from_one_that_is_not_allowed(self):
        """Its superclass is no Open: but the object is one, and it is the same code."""
        closed = self.made("closed")
        for name in (CLOSED, SECRETIVE):
            self.assert_gives("secret", name, "read", on=closed)
        self.assert_denied(self.client.call, SECRETIVE, "read", "x", on=closed)

    def test_with_a_loader(self):
        hidden, loader = self.made(), self.client.call("fixtures.Spawner", "loader")
        params = {"type": HIDDEN, "method": "read", "instance": hidden}
        for _ in range(3):
            for given in (loader, ref(loader)):
                for method, args in (("call", params), (HIDDEN + ".read", [ref(hidden)])):
                    reply = self.client.request(method, args, options={"loader": given})
                    self.assertEqual(reply["error"]["code"], DENIED, reply)
            self.assert_gives("Hidden", HIDDEN, "read", on=hidden)

    def test_chains_in_a_batch(self):
        on, reference = {"type": HIDDEN, "instance": {"result": "a"}}, [{"ref": {"result": "a"}}]
        steps = [("a", "call", {"type": HERITAGE, "method": "hidden"}), (0, "call", {**on, "method": "read"}),
                 (1, HIDDEN + ".read", reference), (2, "call", {**on, "method": "secret"}),
                 (3, HIDDEN + ".secret", reference), (4, "get", {**on, "field": "field"})]
        batch = json.dumps([{"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                            for number, method, params in steps])
        for client in self.each(WebSocketClient, HttpClient, ZmqClient):
            replies = {reply["id"]: reply for reply in json.loads(client.exchange(batch))}
            self.assertEqual((replies[0]["result"]["value"]["value"], replies[1]["result"]), ("Hidden", "Hidden"))
            self.assertEqual([replies[i]["error"]["code"] for i in (2, 3, 4)], [DENIED] * 3)


class Rules(SupertypeCase):
    def test_a_method_made_public_below(self):
        self.start_with(MAKER + allow(PACKAGE + "Ancestor"))
        hidden = self.made()
        self.assert_gives("Ancestor", HIDDEN, "plain", on=hidden)
        for name in ("guarded", "local"):
            self.assert_closed(HIDDEN, name, on=hidden)

    def test_a_rule_against_a_class_of_the_object(self):
        for denied in (HIDDEN, BELOW, HERITAGE + "$*"):
            with self.subTest(denied):
                self.start_with(deny(denied, method="read") + OPENED)
                below = self.made("below")
                for name in (HIDDEN, BELOW):
                    self.assert_closed(name, "read", on=below)
                self.assert_gives("Open", HIDDEN, "greet", on=below)

    def test_a_rule_against_a_class_below(self):
        """Also where it declares nothing. The verdict is kept for the object's class, not for the named one alone."""
        for method, wanted in (("greet", "Open"), ("read", "Hidden")):
            self.start_with(deny(BELOW, method=method) + OPENED)
            below, hidden = self.made("below"), self.made()
            for _ in range(3):
                self.assert_gives(wanted, HIDDEN, method, on=hidden)
                self.assert_closed(HIDDEN, method, on=below)
                self.assertEqual(own_name(self.client, f"{HIDDEN}.{method}", ref(hidden)), wanted)

    def test_a_rule_for_every_class_is_a_default_in_other_words(self):
        self.start_with(OPENED + allow("**", "LOG_AND_DENY"))
        hidden = self.made()
        self.assert_gives("Hidden", HIDDEN, "read", on=hidden)
        self.assert_closed(HIDDEN, "secret", on=hidden)
        self.start_with(deny("**", method="read") + OPENED)
        hidden = self.made()
        self.assert_closed(HIDDEN, "read", on=hidden)  # of Open, too
        self.assert_gives("Open", HIDDEN, "greet", on=hidden)

    def test_internal_classes_of_the_jdk(self):
        for options in ((), ("--rpc-policy-preset", "deny-jdk-internals,deny-nonpublic")):
            client = self.serve_with(MAKER + allow("java.util.Iterator"), *options)
            for maker in ("iterator", "listIterator"):
                made = self.made(maker)
                name = client.request("jpeer.describe", {"instance": ref(made)})["result"]["class"]
                self.assertTrue(name.startswith("java.util."), name)
                self.assert_gives("true", name, "hasNext", on=made)
                self.assert_gives("a", name, "next", on=made)
                self.assertEqual(own_name(client, name + ".next", ref(made)), "b")
                self.assert_closed(name, "toString", on=made)

    def test_deny_jdk_internals_asks_the_declaring_supertype_alone(self):
        preset = ("--rpc-policy-preset", "deny-jdk-internals")
        for rules, is_open in ((None, True), (deny("sun.**") + allow("java.nio.file.*"), False)):
            self.start_with(rules, *preset) if rules else self.start(*preset, allow=False)
            path = self.client.call("java.nio.file.Path", "of", "/tmp/x", typed("String[]", []))
            if is_open:
                self.assert_gives("/tmp/x", "sun.nio.fs.UnixPath", "toString", on=path)
            else:  # a rule of the file denies by the object's class, as ever
                self.assert_closed("sun.nio.fs.UnixPath", "toString", on=path)
            self.assert_closed("sun.nio.fs.UnixPath", "toByteArray", on=path)
            self.assert_denied(self.client.get, "sun.nio.fs.UnixPath", "path", on=path)

    def test_a_preset_that_denies_the_runtime_class(self):
        self.start_with(OBJECT + allow("fixtures.Spawner"), "--rpc-policy-preset", "deny-classloading")
        loader = self.client.call("fixtures.Spawner", "loader")
        for method in ("toString", "hashCode"):
            self.assert_closed("java.net.URLClassLoader", method, on=loader)

    def test_the_channel_visibility_and_category_are_those_of_the_supertypes_rule(self):
        self.start_with(MAKER + allow(OPEN, channel="WEBSOCKET_RPC"))
        self.assert_gives("Hidden", HIDDEN, "read", on=self.made())
        other = self.connect(ZmqClient)
        self.assert_closed(HIDDEN, "read", on=self.made(client=other), client=other)
        for limits in ({"members": ["STATIC_METHOD", "FIELD_GET"]}, {"visibility": "PROTECTED"}):
            with self.subTest(limits):
                self.start_with(MAKER + allow(OPEN, **limits))
                self.assert_closed(HIDDEN, "read", on=self.made())

    def test_a_log_line_names_both_classes(self):
        client = self.serve_with(MAKER + allow(OPEN, "LOG_AND_ALLOW"), head="defaultAction: LOG_AND_DENY\n")
        hidden = self.made()
        for _ in range(3):
            self.assert_gives("Hidden", HIDDEN, "read", on=hidden)
        for name in (HIDDEN, "no.such.Type"):
            self.assert_denied(client.call, name, "secret", on=hidden)
        lines = [line for line in self.peer.stderr().splitlines() if "operation=call" in line]
        allowed = [line for line in lines if f'class="{HIDDEN}"' in line and 'member="read"' in line
                   and "verdict=ALLOW" in line and line.endswith(' supertype="fixtures.heritage.Open"')]
        denied = [line for line in lines if 'member="secret"' in line and "verdict=DENY" in line and "supertype" not in line]
        self.assertEqual((len(allowed), len(denied)), (3, 2), lines)

    def test_a_reload_ends_it(self):
        client = self.serve_with(OPENED, "--rpc-policy-watch-interval", "50")
        hidden = self.made()
        for _ in range(3):
            self.assert_gives("Hidden", HIDDEN, "read", on=hidden)
        self.put_policy(MAKER)
        call = {"type": HIDDEN, "method": "read", "instance": hidden}
        eventually(lambda: client.request("call", call).get("error", {}).get("code") == DENIED, "the new policy is in force")
        self.assert_closed(HIDDEN, "read", on=hidden)

    def test_a_class_that_inherits_the_method_from_a_denied_one(self):
        self.start_with(deny(SECRETIVE) + OPENED)
        closed = self.made("closed")
        for name in (CLOSED, OPEN):
            self.assert_closed(name, "read", on=closed)
        self.assert_denied(self.client.call, SECRETIVE, "read", "x", on=closed)
        self.assert_gives("Open", CLOSED, "greet", on=closed)

    def test_default_methods(self):
        self.start_with(deny(LOUDER) + OPENED)
        two, name = self.made("twoDefaults"), HERITAGE + "$TwoDefaults"
        for each in (name, OPEN):
            self.assert_gives("secret", each, "greet", on=two)  # as by Open's own name
        self.assert_closed(LOUDER, "greet", on=two)
        self.assert_denied(self.client.call, name, "greet")

    def test_package_private_methods_of_the_same_name(self):
        foreign = PACKAGE + "far.Foreign"
        makers = allow(foreign, method="*o*", members="STATIC_METHOD")
        self.start_with(makers + allow(PACKAGE + "Ancestor"))
        on = self.client.call(foreign, "foreign")
        self.assert_closed(foreign, "local", on=on)
        self.assert_gives("Ancestor", foreign, "plain", on=on)
        self.assert_gives("Ancestor", PACKAGE + "Ancestor", "local", on=on)
        self.start_with(makers + allow(foreign + "$Local"))
        on, both = self.client.call(foreign, "foreign"), self.client.call(foreign, "both")
        self.assert_closed(foreign, "local", on=on)  # no Local
        for name in (foreign, foreign + "$Both"):
            self.assert_gives("Foreign", name, "local", on=both)
        self.assert_denied(self.client.call, PACKAGE + "Ancestor", "local", on=both)

    def test_a_proxy_of_a_callback(self):
        self.start_with(MAKER + allow("java.lang.Runnable"))
        client, ran = self.connect(CallbackClient), []
        proxy = client.call(HERITAGE, "same", client.give(lambda call: ran.append(call.method)))
        described = client.request("jpeer.describe", {"instance": ref(proxy)})["result"]
        name = described["class"]
        self.assertIn("$Proxy", name)
        self.assertIn("run", {method["name"] for method in described["methods"]})
        client.call(name, "run", on=proxy)
        self.assertEqual(ran, ["run"])
        self.assert_denied(client.call, name, "toString", on=proxy)
        self.assert_denied(client.call, name, "getInvocationHandler", ref(proxy))

    def test_arrays(self):
        client = self.serve_with(MAKER + OBJECT)
        array, name = self.made("array"), HIDDEN + "[]"
        self.assertTrue(client.call(name, "toString", on=array).startswith("[L"))
        for field in ("[0]", "length"):
            self.assert_denied(client.get, name, field, on=array)
        client = self.serve_with(deny(HIDDEN) + MAKER + OBJECT)
        self.assert_denied(client.call, name, "toString", on=self.made("array"))

    def test_values_as_receivers(self):
        self.start_with(allow("java.lang.CharSequence"))
        value = typed("java.lang.String", "hello")
        self.assert_gives("5", "java.lang.String", "length", on=value)
        self.assert_gives("e", "java.lang.String", "charAt", typed("int", 1), on=value)
        for method, *args in (("toUpperCase",), ("getBytes",), ("valueOf", 1)):
            self.assert_denied(self.client.call, "java.lang.String", method, *args, on=value)

    def test_the_peers_own_classes_stay_closed(self):
        client = self.serve_with(OBJECT + allow("java.lang.Runnable") + allow("java.lang.Thread"))
        thread = client.call("java.lang.Thread", "currentThread")
        for method in ("toString", "run", "hashCode"):
            self.assert_denied(client.call, "jpeer.peer.PeerThread", method, on=thread)
        for method in ("toString", "hashCode"):
            self.assert_closed("java.lang.Object", method, on=thread)
