"""A public method of an object, by the name of a class that is not allowed, where a supertype of the object is: what that
opens, and nothing else (docs/policy.md, "A supertype in place of the class")."""

import json
import time
import unittest

from support.binary_client import DENIED, BinaryClient, Raised
from support.callback_client import CallbackClient
from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, plain, typed
from support.peer import Peer
from test_policy import own_name, policy_file

PACKAGE = "fixtures.heritage."
HIDDEN, BELOW, CLOSED = (PACKAGE + "Heritage$" + name for name in ("Hidden", "Below", "Closed"))
MAKER = "  - {class: fixtures.heritage.Heritage, members: STATIC_METHOD, action: ALLOW}\n"
OPEN = MAKER + "  - {class: fixtures.heritage.Open, action: ALLOW}\n"
OBJECT = "  - {class: java.lang.Object, action: ALLOW}\n"


class Supertypes(unittest.TestCase):
    def peer(self, rules, *options, head=""):
        self.file = policy_file("version: 1\n" + head + "rules:\n" + rules)
        self.addCleanup(self.file.close)
        return Peer("--rpc-policy", self.file.name, *options, allow=False)

    def assert_denied(self, action, text=""):
        with self.assertRaises(RpcError) as raised:
            action()
        self.assertEqual((raised.exception.code, raised.exception.message), (-32001, "RPC access denied"))
        self.assertIn(text, raised.exception.detail)

    def assert_call_denied(self, client, name, method, *args, on):
        """In call form and by its own name."""
        text = f"RPC access denied: {name}.{method} via"
        self.assert_denied(lambda: client.call(name, method, *args, on=on), text)
        self.assert_denied(lambda: own_name(client, f"{name}.{method}", {"ref": on}, *args), text)

    def made(self, client, what="hidden"):
        return client.call(PACKAGE + "Heritage", what)

    def test_the_method_of_an_allowed_interface(self):
        with self.peer(OPEN) as peer:
            for transport in (WebSocketClient, ZmqClient):
                with transport(peer) as client:
                    hidden, below = self.made(client), self.made(client, "below")
                    for _ in range(4):  # the verdict is kept from the second one on
                        self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
                        self.assertEqual(client.call(BELOW, "read", on=below), "Below")
                        self.assertEqual(client.call(HIDDEN, "read", on=below), "Below")
                        self.assertEqual(client.call(HIDDEN, "greet", on=hidden), "Open")
                        self.assertEqual(client.call(HIDDEN, "give", on=hidden), "given")
                        self.assertEqual(own_name(client, HIDDEN + ".read", {"ref": hidden}), "Hidden")
                        self.assertEqual(own_name(client, HIDDEN + ".greet", {"ref": below}), "Open")
                        self.assertEqual(client.request(HIDDEN + ".read", {"instance": {"ref": hidden}})["result"],
                                         "Hidden")

    def test_over_http_with_a_session(self):
        with self.peer(OPEN) as peer:
            with HttpClient(peer) as client:
                hidden = self.made(client)
                self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")

    def test_binary_messages(self):
        with self.peer(OPEN) as peer:
            with BinaryClient(peer) as client:
                hidden = client.call(PACKAGE + "Heritage", "hidden")
                for _ in range(3):
                    self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
                    for name, method in ((HIDDEN, "secret"), (BELOW, "read"), ("no.such.Type", "read")):
                        with self.assertRaises(Raised, msg=name) as raised:
                            client.call(name, method, on=hidden)
                        self.assertEqual(raised.exception.type, DENIED)

    def test_what_the_interface_does_not_declare(self):
        with self.peer(OPEN) as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                for _ in range(2):
                    for name in ("secret", "guarded", "local", "plain", "compareTo", "nothing", "hashCode"):
                        self.assert_call_denied(client, HIDDEN, name, on=hidden)
                    self.assert_denied(lambda: client.call(HIDDEN, "read", typed("int", 3), on=hidden))
                    self.assert_denied(lambda: client.call(HIDDEN, "read", 3, on=hidden))
                    # Open's method takes an Object. That one alone is open, not take(String).
                    self.assertEqual(client.call(HIDDEN, "take", "x", on=hidden), "took x")
                    with self.assertRaises(RpcError) as raised:
                        client.call(HIDDEN, "take", 1, 2, on=hidden)
                    self.assertNotIn("String)", raised.exception.detail)

    def test_no_constructor_static_member_or_field(self):
        with self.peer(OPEN) as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                self.assert_denied(lambda: client.new(HIDDEN))
                self.assert_denied(lambda: client.new(PACKAGE + "Ancestor"))
                self.assert_call_denied(client, HIDDEN, "greeting", on=hidden)
                self.assert_denied(lambda: client.call(HIDDEN, "greeting"))
                self.assert_denied(lambda: client.call(HIDDEN, "read"))
                self.assert_denied(lambda: client.get(HIDDEN, "field", on=hidden))
                self.assert_denied(lambda: client.put(HIDDEN, "field", "x", on=hidden))

    def test_a_method_made_public_below(self):
        with self.peer(MAKER + "  - {class: fixtures.heritage.Ancestor, action: ALLOW}\n") as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                self.assertEqual(client.call(HIDDEN, "plain", on=hidden), "Ancestor")
                self.assert_call_denied(client, HIDDEN, "guarded", on=hidden)
                self.assert_call_denied(client, HIDDEN, "local", on=hidden)

    def test_a_name_that_is_none_of_the_objects(self):
        with self.peer(OPEN) as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                for name in (BELOW, "java.lang.Thread", "java.util.List", "no.such.Type", "fixtures.LoudInitializer"):
                    self.assert_call_denied(client, name, "read", on=hidden)
                # Nor does an unknown object, or arguments that are wrong, tell more.
                self.assert_denied(lambda: client.call(HIDDEN, "read", on=123456))
                self.assert_denied(lambda: client.call("no.such.Type", "read", on=123456))
                self.assert_denied(lambda: client.call(HIDDEN, "secret", {"ref": 99999}, on=hidden))
                self.assert_denied(lambda: client.call(HIDDEN, "secret", typed("no.such.Type", None), on=hidden))

    def test_a_rule_against_a_class_of_the_object(self):
        for denied in (HIDDEN, BELOW, PACKAGE + "Heritage$*"):
            rules = f'  - {{class: "{denied}", method: read, action: DENY}}\n' + OPEN
            with self.subTest(denied), self.peer(rules) as peer:
                with WebSocketClient(peer) as client:
                    below = self.made(client, "below")
                    self.assert_call_denied(client, HIDDEN, "read", on=below)
                    self.assert_call_denied(client, BELOW, "read", on=below)
                    self.assertEqual(client.call(HIDDEN, "greet", on=below), "Open")

    def test_a_rule_against_the_class_between_that_declares_nothing(self):
        rules = f'  - {{class: "{BELOW}", method: greet, action: DENY}}\n' + OPEN
        with self.peer(rules) as peer:
            with WebSocketClient(peer) as client:
                below, hidden = self.made(client, "below"), self.made(client)
                self.assert_call_denied(client, HIDDEN, "greet", on=below)
                self.assertEqual(client.call(HIDDEN, "greet", on=hidden), "Open")

    def test_a_rule_for_every_class_is_a_default_in_other_words(self):
        with self.peer(OPEN + '  - {class: "**", action: LOG_AND_DENY}\n') as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
                self.assert_call_denied(client, HIDDEN, "secret", on=hidden)
        with self.peer('  - {class: "**", method: read, action: DENY}\n' + OPEN) as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                self.assert_call_denied(client, HIDDEN, "read", on=hidden)  # of Open, too
                self.assertEqual(client.call(HIDDEN, "greet", on=hidden), "Open")

    def test_internal_classes_of_the_jdk(self):
        rules = MAKER + "  - {class: java.util.Iterator, action: ALLOW}\n"
        for options in ((), ("--rpc-policy-preset", "deny-jdk-internals,deny-nonpublic")):
            with self.subTest(options), self.peer(rules, *options) as peer:
                with WebSocketClient(peer) as client:
                    for maker in ("iterator", "listIterator"):
                        made = self.made(client, maker)
                        name = client.request("jpeer.describe", {"instance": {"ref": made}})["result"]["class"]
                        self.assertTrue(name.startswith("java.util."), name)
                        self.assertEqual(client.call(name, "hasNext", on=made), "true")
                        self.assertEqual(client.call(name, "next", on=made), "a")
                        self.assertEqual(own_name(client, name + ".next", {"ref": made}), "b")
                        self.assert_call_denied(client, name, "toString", on=made)

    def test_deny_jdk_internals_asks_the_declaring_supertype_alone(self):
        with Peer("--rpc-policy-preset", "deny-jdk-internals", allow=False) as peer:
            with WebSocketClient(peer) as client:
                path = client.call("java.nio.file.Path", "of", "/tmp/x", typed("String[]", []))
                self.assertEqual(client.call("sun.nio.fs.UnixPath", "toString", on=path), "/tmp/x")
                self.assert_call_denied(client, "sun.nio.fs.UnixPath", "toByteArray", on=path)
                self.assert_denied(lambda: client.get("sun.nio.fs.UnixPath", "path", on=path))
        rules = '  - {class: "sun.**", action: DENY}\n  - {class: "java.nio.file.*", action: ALLOW}\n'
        with self.peer(rules, "--rpc-policy-preset", "deny-jdk-internals") as peer:
            with WebSocketClient(peer) as client:  # a rule of the file denies by the object's class, as ever
                path = client.call("java.nio.file.Path", "of", "/tmp/x", typed("String[]", []))
                self.assert_call_denied(client, "sun.nio.fs.UnixPath", "toString", on=path)

    def test_a_preset_that_denies_the_runtime_class(self):
        rules = OBJECT + "  - {class: fixtures.Spawner, action: ALLOW}\n"
        with self.peer(rules, "--rpc-policy-preset", "deny-classloading") as peer:
            with WebSocketClient(peer) as client:
                loader = client.call("fixtures.Spawner", "loader")
                name = "java.net.URLClassLoader"
                self.assert_call_denied(client, name, "toString", on=loader)
                self.assert_call_denied(client, name, "hashCode", on=loader)

    def test_the_channel_is_that_of_the_supertypes_rule(self):
        rules = MAKER + "  - {class: fixtures.heritage.Open, action: ALLOW, channel: WEBSOCKET_RPC}\n"
        with self.peer(rules) as peer:
            with WebSocketClient(peer) as client, ZmqClient(peer) as other:
                self.assertEqual(client.call(HIDDEN, "read", on=self.made(client)), "Hidden")
                hidden = self.made(other)
                self.assert_call_denied(other, HIDDEN, "read", on=hidden)

    def test_the_visibility_and_category_are_those_of_the_supertypes_rule(self):
        for limit in ("members: [STATIC_METHOD, FIELD_GET]", "visibility: PROTECTED"):
            rules = MAKER + f"  - {{class: fixtures.heritage.Open, action: ALLOW, {limit}}}\n"
            with self.subTest(limit), self.peer(rules) as peer:
                with WebSocketClient(peer) as client:
                    self.assert_call_denied(client, HIDDEN, "read", on=self.made(client))

    def test_a_log_line_names_both_classes(self):
        rules = MAKER + "  - {class: fixtures.heritage.Open, action: LOG_AND_ALLOW}\n"
        with self.peer(rules, head="defaultAction: LOG_AND_DENY\n") as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                for _ in range(3):
                    self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
                self.assert_denied(lambda: client.call(HIDDEN, "secret", on=hidden))
                self.assert_denied(lambda: client.call("no.such.Type", "secret", on=hidden))
            lines = [line for line in peer.stderr().splitlines() if "operation=call" in line]
            allowed = [line for line in lines if 'member="read"' in line]
            self.assertEqual(len(allowed), 3, lines)
            for line in allowed:
                self.assertIn(f'class="{HIDDEN}"', line)
                self.assertIn("verdict=ALLOW", line)
                self.assertTrue(line.endswith(' supertype="fixtures.heritage.Open"'), line)
            denied = [line for line in lines if 'member="secret"' in line]
            self.assertEqual(len(denied), 2, lines)
            self.assertTrue(all("verdict=DENY" in line and "supertype" not in line for line in denied), denied)

    def test_a_reload_ends_it(self):
        with self.peer(OPEN, "--rpc-policy-watch-interval", "50") as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                for _ in range(3):
                    self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
                with open(self.file.name, "w", encoding="utf-8") as file:
                    file.write("version: 1\nrules:\n" + MAKER)
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline:
                    try:
                        client.call(HIDDEN, "read", on=hidden)
                    except RpcError as error:
                        self.assertEqual(error.code, -32001)
                        break
                    time.sleep(0.02)
                else:
                    self.fail("the old policy is in force 20 s after the file has changed")
                self.assert_call_denied(client, HIDDEN, "read", on=hidden)

    def test_descriptions_of_the_object_alone_list_them(self):
        with self.peer(OPEN) as peer:
            with WebSocketClient(peer) as client:
                hidden = self.made(client)
                told = client.request("jpeer.describe", {"instance": {"ref": hidden}})["result"]
                names = {method["name"] for method in told["methods"]}
                self.assertEqual(names, {"read", "give", "greet", "take"})
                takes = [method for method in told["methods"] if method["name"] == "take"]
                self.assertEqual([method["parameters"][0]["type"] for method in takes], ["T"])
                reads = [method for method in told["methods"] if method["name"] == "read"]
                self.assertEqual([method["parameters"] for method in reads], [[]])
                self.assertEqual((told["fields"], told["constructors"]), ([], []))
                by_name = client.request("jpeer.describe", {"type": HIDDEN})
                self.assertEqual(by_name["error"]["code"], -32001)
                listed = client.request("meta", {"method": "fetch_classes_info", "args": [
                    {"name": "include_classes", "value": PACKAGE + "**"}]})
                self.assertNotIn(HIDDEN, str(listed))

    def test_a_class_that_inherits_the_method_from_a_denied_one(self):
        secretive = f'  - {{class: "{PACKAGE}Heritage$Secretive", action: DENY}}\n'
        for rules, is_open in ((OPEN, True), (secretive + OPEN, False)):
            with self.subTest(rules), self.peer(rules) as peer:
                with WebSocketClient(peer) as client:
                    closed = self.made(client, "closed")
                    if is_open:
                        self.assertEqual(client.call(CLOSED, "read", on=closed), "secret")
                    else:
                        self.assert_call_denied(client, CLOSED, "read", on=closed)
                        self.assert_call_denied(client, PACKAGE + "Open", "read", on=closed)
                    # Its superclass is no Open: but the object is one, and it is the same code.
                    if is_open:
                        self.assertEqual(client.call(PACKAGE + "Heritage$Secretive", "read", on=closed), "secret")
                    self.assert_denied(lambda: client.call(PACKAGE + "Heritage$Secretive", "read", "x", on=closed))
                    self.assertEqual(client.call(CLOSED, "greet", on=closed), "Open")

    def test_an_overload_beside_a_generic_method(self):
        with self.peer(OPEN) as peer:
            with WebSocketClient(peer) as client:
                closed = self.made(client, "closed")
                for given in ("x", typed("java.lang.CharSequence", "x"), typed("java.lang.String", "x")):
                    self.assertEqual(client.call(CLOSED, "take", given, on=closed), "took x")
                    self.assertEqual(own_name(client, CLOSED + ".take", {"ref": closed}, "x"), "took x")
                self.assert_denied(lambda: own_name(client, CLOSED + ".take(CharSequence)", {"ref": closed}, "x"))

    def test_a_rule_against_one_of_two_classes_with_one_name_named(self):
        """The verdict is kept for the object's class, not for the named one alone."""
        rules = f'  - {{class: "{BELOW}", method: read, action: DENY}}\n' + OPEN
        with self.peer(rules) as peer:
            with WebSocketClient(peer) as client:
                hidden, below = self.made(client), self.made(client, "below")
                for _ in range(3):
                    self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")
                    self.assert_call_denied(client, HIDDEN, "read", on=below)
                    self.assertEqual(own_name(client, HIDDEN + ".read", {"ref": hidden}), "Hidden")

    def test_default_methods(self):
        louder = f'  - {{class: "{PACKAGE}Heritage$Louder", action: DENY}}\n'
        with self.peer(louder + OPEN) as peer:
            with WebSocketClient(peer) as client:
                two = self.made(client, "twoDefaults")
                name = PACKAGE + "Heritage$TwoDefaults"
                self.assertEqual(client.call(name, "greet", on=two), "secret")  # as by Open's own name
                self.assertEqual(client.call(PACKAGE + "Open", "greet", on=two), "secret")
                self.assert_call_denied(client, PACKAGE + "Heritage$Louder", "greet", on=two)
                self.assert_denied(lambda: client.call(name, "greet"))

    def test_package_private_methods_of_the_same_name(self):
        foreign = PACKAGE + "far.Foreign"
        made = f'  - {{class: {foreign}, method: "*o*", members: STATIC_METHOD, action: ALLOW}}\n'
        with self.peer(f"{made}  - {{class: {PACKAGE}Ancestor, action: ALLOW}}\n") as peer:
            with WebSocketClient(peer) as client:
                on = client.call(foreign, "foreign")
                self.assert_call_denied(client, foreign, "local", on=on)
                self.assertEqual(client.call(foreign, "plain", on=on), "Ancestor")
                self.assertEqual(client.call(PACKAGE + "Ancestor", "local", on=on), "Ancestor")
        with self.peer(f'{made}  - {{class: "{foreign}$Local", action: ALLOW}}\n') as peer:
            with WebSocketClient(peer) as client:
                on, both = client.call(foreign, "foreign"), client.call(foreign, "both")
                self.assert_call_denied(client, foreign, "local", on=on)  # no Local
                self.assertEqual(client.call(foreign, "local", on=both), "Foreign")
                self.assertEqual(client.call(foreign + "$Both", "local", on=both), "Foreign")
                self.assert_denied(lambda: client.call(PACKAGE + "Ancestor", "local", on=both))

    def test_with_a_loader(self):
        with self.peer(OPEN + "  - {class: fixtures.Spawner, action: ALLOW}\n") as peer:
            with WebSocketClient(peer) as client:
                hidden, loader = self.made(client), client.call("fixtures.Spawner", "loader")
                params = {"type": HIDDEN, "method": "read", "instance": hidden}
                for _ in range(3):
                    for options in ({"loader": loader}, {"loader": {"ref": loader}}):
                        for method, given in (("call", params), (HIDDEN + ".read", [{"ref": hidden}])):
                            reply = client.request(method, given, options=options)
                            self.assertEqual(reply["error"]["code"], -32001, reply)
                    self.assertEqual(client.call(HIDDEN, "read", on=hidden), "Hidden")

    def test_chains_in_a_batch(self):
        with self.peer(OPEN) as peer:
            for transport in (WebSocketClient, HttpClient, ZmqClient):
                with self.subTest(transport), transport(peer) as client:
                    made = {"jsonrpc": "2.0", "id": "a", "method": "call",
                            "params": {"type": PACKAGE + "Heritage", "method": "hidden"}}
                    batch = [made]
                    for number, (method, params) in enumerate((
                            ("call", {"type": HIDDEN, "method": "read", "instance": {"result": "a"}}),
                            (HIDDEN + ".read", [{"ref": {"result": "a"}}]),
                            ("call", {"type": HIDDEN, "method": "secret", "instance": {"result": "a"}}),
                            (HIDDEN + ".secret", [{"ref": {"result": "a"}}]),
                            ("get", {"type": HIDDEN, "field": "field", "instance": {"result": "a"}}))):
                        batch.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                    replies = {reply["id"]: reply for reply in json.loads(client.exchange(json.dumps(batch)))}
                    self.assertEqual(replies[0]["result"]["value"]["value"], "Hidden")
                    self.assertEqual(replies[1]["result"], "Hidden")
                    self.assertEqual([replies[i]["error"]["code"] for i in (2, 3, 4)], [-32001] * 3)

    def test_a_proxy_of_a_callback(self):
        rules = MAKER + '  - {class: java.lang.Runnable, action: ALLOW}\n'
        with self.peer(rules) as peer:
            with CallbackClient(peer) as client:
                ran = []
                proxy = client.call(PACKAGE + "Heritage", "same", client.give(lambda call: ran.append(call.method)))
                described = client.request("jpeer.describe", {"instance": {"ref": proxy}})["result"]
                name = described["class"]
                self.assertIn("$Proxy", name)
                self.assertIn("run", {method["name"] for method in described["methods"]})
                client.call(name, "run", on=proxy)
                self.assertEqual(ran, ["run"])
                self.assert_denied(lambda: client.call(name, "toString", on=proxy))
                self.assert_denied(lambda: client.call(name, "getInvocationHandler", {"ref": proxy}))

    def test_arrays(self):
        with self.peer(MAKER + OBJECT) as peer:
            with WebSocketClient(peer) as client:
                array = self.made(client, "array")
                self.assertTrue(client.call(HIDDEN + "[]", "toString", on=array).startswith("[L"))
                self.assert_denied(lambda: client.get(HIDDEN + "[]", "[0]", on=array))
                self.assert_denied(lambda: client.get(HIDDEN + "[]", "length", on=array))
        with self.peer(f'  - {{class: "{HIDDEN}", action: DENY}}\n' + MAKER + OBJECT) as peer:
            with WebSocketClient(peer) as client:
                array = self.made(client, "array")
                self.assert_denied(lambda: client.call(HIDDEN + "[]", "toString", on=array))

    def test_values_as_receivers(self):
        with self.peer("  - {class: java.lang.CharSequence, action: ALLOW}\n") as peer:
            with WebSocketClient(peer) as client:
                def call(method, *args):
                    params = {"type": "java.lang.String", "method": method, "args": list(args),
                              "instance": {"type": "java.lang.String", "value": "hello"}}
                    reply = client.request("call", params)
                    if "error" in reply:
                        raise RpcError(reply["error"])
                    return plain(reply["result"]["value"])
                self.assertEqual(call("length"), "5")
                self.assertEqual(call("charAt", typed("int", 1)), "e")
                self.assert_denied(lambda: call("toUpperCase"))
                self.assert_denied(lambda: call("getBytes"))
                self.assert_denied(lambda: call("valueOf", 1))

    def test_the_peers_own_classes_stay_closed(self):
        rules = OBJECT + "  - {class: java.lang.Runnable, action: ALLOW}\n" \
                         "  - {class: java.lang.Thread, action: ALLOW}\n"
        with self.peer(rules) as peer:
            with WebSocketClient(peer) as client:
                thread = client.call("java.lang.Thread", "currentThread")
                for method in ("toString", "run", "hashCode"):
                    self.assert_denied(lambda m=method: client.call("jpeer.peer.PeerThread", m, on=thread))
                for method in ("toString", "hashCode"):
                    self.assert_call_denied(client, "java.lang.Object", method, on=thread)


if __name__ == "__main__":
    unittest.main()
