"""`type` left out beside an instance: the object's own class is meant, whatever request of the same form came before
(docs/protocol.md, "new, call, get, put")."""

import json
import unittest

from support.binary_client import DENIED, BinaryClient, Raised, exec_message, named
from support.binary_client import plain as plain_obj
from support.clients import HttpClient, RpcError, ShmClient, WebSocketClient, ZmqClient, plain, ref, typed
from support.peer import Peer
from test_policy import own_name, policy_file

CLIENTS = (WebSocketClient, HttpClient, ZmqClient, ShmClient)
HIDDEN = "fixtures.heritage.Heritage$Hidden"
MAKER = "  - {class: fixtures.heritage.Heritage, members: STATIC_METHOD, action: ALLOW}\n"
NOT_FOUND, DENIED_CODE, INVALID = -32601, -32001, -32602
ROUNDS = 20  # more than a kept shape, a kept message and a cached member need


def call(client, instance, method, *args, **options):
    params = {"method": method, "instance": instance, **({"args": list(args)} if args else {})}
    reply = client.request("call", params, **({"options": options} if options else {}))
    if "error" in reply:
        raise RpcError(reply["error"])
    return plain(reply["result"].get("value"))


def get(client, instance, field):
    return plain(client.value("get", {"field": field, "instance": instance}))


def put(client, instance, field, value):
    client.value("put", {"field": field, "instance": instance, "value": value})


def binary_call(client, instance, method, *args):
    message = exec_message(2, name=method, args=list(args), objectRef=instance)
    value = client.result(message)
    return None if value is None else plain_obj(value)


def binary_get(client, instance, field):
    return plain_obj(client.result(exec_message(5, field=named(field), objectRef=instance)))


def collections(client):
    """Ref and size of objects of three classes that have a method size, and no class of them in common."""
    made = []
    for size, name in enumerate(("java.util.ArrayList", "java.util.LinkedList", "java.util.BitSet"), 1):
        number = client.new(name)
        for i in range(size):
            client.call(name, "set" if name.endswith("BitSet") else "add", i, on=number)
        made.append((number, "64" if name.endswith("BitSet") else str(size)))
    return made


def lambda_of(client):
    return client.call("java.util.function.Function", "identity")


class ImpliedTypes(unittest.TestCase):
    def assert_error(self, code, text, action):
        with self.assertRaises(RpcError) as raised:
            action()
        self.assertEqual((raised.exception.code, text in raised.exception.detail), (code, True), raised.exception)
        return raised.exception

    def test_each_object_is_called_by_its_own_class(self):
        with Peer(sockets=True) as peer:
            for client_class in CLIENTS:
                with self.subTest(client_class.__name__), client_class(peer) as client:
                    made = collections(client)
                    for _ in range(ROUNDS):
                        for number, size in made:
                            self.assertEqual(call(client, number, "size"), size)
                            self.assertEqual(call(client, number, "size", types=True), size)
                            self.assertEqual(client.call("java.util.ArrayList", "size", on=made[0][0]), "1")
                        with self.assertRaises(RpcError) as raised:
                            client.call("java.util.ArrayList", "size", on=made[1][0])
                        self.assertEqual(raised.exception.code, INVALID)
                        self.assertEqual(own_name(client, "java.util.LinkedList.size", ref(made[1][0])), 2)
                    for number, _ in made * ROUNDS:
                        self.assertEqual(call(client, number, "size"), dict(made)[number])

    def test_a_field_and_a_method_that_differ_by_class(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            ints, longs = client.new("int[]", 3), client.new("long[]", 5)
            user = client.new("fixtures.User", "ann", 7)
            for _ in range(ROUNDS):
                self.assertEqual((get(client, ints, "length"), get(client, longs, "length")), ("3", "5"))
                put(client, ints, "[0]", 4)
                put(client, longs, "[0]", 6)
                self.assertEqual((get(client, ints, "[0]"), get(client, longs, "[0]")), ("4", "6"))
                put(client, user, "age", 9)
                self.assertEqual(get(client, user, "age"), "9")
            copy = call(client, longs, "clone")
            self.assertNotEqual(copy, longs)
            self.assertEqual(get(client, copy, "length"), "5")
            self.assert_error(NOT_FOUND, "age", lambda: get(client, ints, "age"))

    def test_binary_messages(self):
        with Peer() as peer, BinaryClient(peer) as client:
            lists = [client.new("java.util.ArrayList"), client.new("java.util.LinkedList")]
            client.call("java.util.LinkedList", "add", "x", on=lists[1])
            ints, longs = client.new("int[]", 3), client.new("long[]", 5)
            for _ in range(ROUNDS):
                self.assertEqual([binary_call(client, each, "size") for each in lists], [0, 1])
                self.assertEqual(client.call("java.util.ArrayList", "size", on=lists[0]), 0)
                self.assertEqual([binary_get(client, each, "length") for each in (ints, longs)], [3, 5])
                with self.assertRaises(Raised) as raised:
                    client.call("java.util.ArrayList", "size", on=lists[1])
                self.assertNotEqual(raised.exception.type, "")
            empty = exec_message(2, clazz=named(""), name="size", args=[], objectRef=lists[1])
            self.assertEqual(plain_obj(client.result(empty)), 1)
            for message in (exec_message(2, name="size", args=[], objectRef=0), exec_message(3, name="size", args=[])):
                with self.assertRaises(Raised) as raised:
                    client.result(message)
                self.assertIn("Type is missing in params", raised.exception.text)

    def test_classes_that_no_request_can_name(self):
        with Peer(sockets=True) as peer:
            for client_class in CLIENTS:
                with self.subTest(client_class.__name__), client_class(peer) as client:
                    function = lambda_of(client)
                    name = call(client, call(client, function, "getClass"), "getName")
                    self.assertIn("/", name)
                    for _ in range(ROUNDS):
                        self.assertEqual(call(client, function, "apply", typed("String", "x")), "x")
                        # Neither does the untyped request before let that name mean a class, nor the other way round.
                        self.assert_error(INVALID, "Invalid characters in type",
                                          lambda: client.call(name, "apply", typed("String", "x"), on=function))
                    functions = client.call("java.lang.reflect.Array", "newInstance",
                                            ref(call(client, function, "getClass")), 2)
                    self.assertEqual(get(client, functions, "length"), "2")
                    put(client, functions, "[1]", ref(function))
                    self.assertEqual(get(client, functions, "[1]"), function)
                    self.assert_error(NOT_FOUND, "nope", lambda: call(client, function, "nope"))

    def test_a_proxy_of_a_method_handle(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            lookup = client.call("java.lang.invoke.MethodHandles", "publicLookup")
            string = client.call("java.lang.Class", "forName", "java.lang.String")
            function = client.call("java.lang.Class", "forName", "java.util.function.UnaryOperator")
            kind = client.call("java.lang.invoke.MethodType", "methodType", ref(string))
            handle = call(client, lookup, "findVirtual", ref(string), "toUpperCase", ref(kind))
            proxy = client.call("java.lang.invoke.MethodHandleProxies", "asInterfaceInstance", ref(function), ref(handle))
            for _ in range(ROUNDS):
                self.assertEqual(call(client, proxy, "apply", typed("String", "up")), "UP")

    def test_a_class_that_is_not_public(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            hidden = client.call("fixtures.heritage.Heritage", "hidden")
            below = client.call("fixtures.heritage.Heritage", "below")
            for _ in range(ROUNDS):
                self.assertEqual(call(client, hidden, "read"), "Hidden")
                self.assertEqual(get(client, hidden, "field"), "field")
                self.assertEqual(call(client, hidden, "greeting"), "secret")  # a static member
                self.assertEqual(call(client, below, "read"), client.call("fixtures.heritage.Open", "read", on=below))

    def test_classes_of_one_name_of_two_loaders(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            beans = []
            for name in ("one", "two"):
                loader = client.call("fixtures.Loading", "own", name)
                beans.append((client.call("fixtures.Loading", "bean", ref(loader)), name))
            classes = {call(client, call(client, bean, "getClass"), "hashCode") for bean, _ in beans}
            self.assertEqual(len(classes), 2)
            for _ in range(ROUNDS):
                for bean, name in beans:
                    self.assertEqual(call(client, bean, "loaderName"), name)

    def test_a_ref_that_names_nothing(self):
        with Peer(sockets=True) as peer:
            for client_class in CLIENTS:
                with self.subTest(client_class.__name__), client_class(peer) as client:
                    list_ref = client.new("java.util.ArrayList")
                    self.assertEqual(call(client, list_ref, "size"), "0")
                    client.control("delete_object", ref(list_ref))
                    for number in (list_ref, 2147483647):
                        error = self.assert_error(-32000, f"No object found with objRef: {number}",
                                                  lambda number=number: call(client, number, "size"))
                        self.assertEqual(error.throwable, "java.lang.NullPointerException")
                    if client_class is not HttpClient:  # which says it in a header
                        stale = {"method": "size", "instance": client.new("java.util.ArrayList")}
                        reply = client.request("call", stale, epoch="0" * 16)
                        self.assertEqual(reply["error"]["data"]["reason"], "stale")
                    for bad in (0, -1, 2147483648, 1.5, "1", None, [], {}, True):
                        self.assert_error(INVALID, "", lambda bad=bad: call(client, bad, "size"))
                    self.assert_error(INVALID, "Type is missing in params",
                                      lambda: client.value("call", {"method": "size"}))
                    self.assert_error(INVALID, "Type is missing in params",
                                      lambda: client.value("new", {"instance": 1}))
                    for bad in (None, 5, ""):
                        self.assert_error(INVALID, "", lambda bad=bad: client.value(
                            "call", {"type": bad, "method": "size", "instance": 1}))

    def test_a_chain_of_results_of_any_class_is_one_batch(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            function = lambda_of(client)
            steps = [("call", {"type": "java.util.Map", "method": "of", "args": [typed("String", "k"), 5]}),
                     ("call", {"instance": {"result": 1}, "method": "entrySet"}),
                     ("call", {"instance": {"result": 2}, "method": "iterator"}),
                     ("call", {"instance": {"result": 3}, "method": "next"}),
                     ("call", {"instance": {"result": 4}, "method": "getValue"}),
                     ("call", {"instance": {"result": 5}, "method": "intValue"}),
                     ("call", {"instance": function, "method": "apply", "args": [{"ref": {"result": 4}}]}),
                     ("call", {"instance": {"result": 7}, "method": "getKey"}),
                     ("call", {"instance": {"result": 8}, "method": "length"}),
                     ("new", {"type": "int[]", "args": [4]}),
                     ("get", {"instance": {"result": 10}, "field": "length"}),
                     ("call", {"instance": {"result": 11}, "method": "bitCount", "args": [7]})]
            batch = [{"jsonrpc": "2.0", "id": i, "method": method, "params": params}
                     for i, (method, params) in enumerate(steps, 1)]
            answers = {each["id"]: each for each in json.loads(client.exchange(json.dumps(batch)))}
            for answer in answers.values():
                self.assertIn("result", answer)
            values = {i: answers[i]["result"]["value"].get("value") for i in (5, 6, 8, 9, 11, 12)}
            self.assertEqual(values, {5: "5", 6: "5", 8: "k", 9: "1", 11: "4", 12: "3"})

    def test_near_names_are_of_the_objects_class(self):
        with Peer(sockets=True) as peer:
            for client_class in CLIENTS:
                with self.subTest(client_class.__name__), client_class(peer) as client:
                    for name, wrong, near in (("java.util.ArrayDeque", "pollFrist", "pollFirst"),
                                              ("java.util.BitSet", "cardinalty", "cardinality")):
                        error = self.assert_error(NOT_FOUND, name, lambda name=name, wrong=wrong: call(
                            client, client.new(name), wrong))
                        self.assertEqual(error.data["suggestions"][0], near)


class Policies(unittest.TestCase):
    def peer(self, rules, *options, head=""):
        file = policy_file("version: 1\n" + head + "rules:\n" + rules)
        self.addCleanup(file.close)
        return Peer("--rpc-policy", file.name, *options, allow=False, sockets=True)

    def assert_denied(self, what, action):
        with self.assertRaises(RpcError) as raised:
            action()
        self.assertEqual((raised.exception.code, raised.exception.message), (DENIED_CODE, "RPC access denied"))
        self.assertTrue(raised.exception.detail.startswith(f"RPC access denied: {what} via"), raised.exception.detail)

    def test_an_allowed_supertype_opens_what_it_declares(self):
        rules = MAKER + "  - {class: fixtures.heritage.Open, action: ALLOW}\n"
        with self.peer(rules) as peer:
            for client_class in CLIENTS:
                with self.subTest(client_class.__name__), client_class(peer) as client:
                    hidden = client.call("fixtures.heritage.Heritage", "hidden")
                    for _ in range(ROUNDS):
                        self.assertEqual(call(client, hidden, "read"), "Hidden")
                        self.assertEqual(call(client, hidden, "take", typed("String", "it")), "took it")
                        for method, args in (("secret", ()), ("greeting", ()), ("read", (1,)), ("nope", ()), ("notify", ())):
                            self.assert_denied(f"{HIDDEN}.{method}", lambda m=method, a=args: call(client, hidden, m, *a))
                        for action in (lambda: get(client, hidden, "field"), lambda: put(client, hidden, "field", "x")):
                            self.assert_denied(f"{HIDDEN}.field", action)
            with BinaryClient(peer) as client:
                hidden = client.call("fixtures.heritage.Heritage", "hidden")
                for _ in range(ROUNDS):
                    self.assertEqual(binary_call(client, hidden, "read"), "Hidden")
                    for action in (lambda: binary_call(client, hidden, "secret"), lambda: binary_get(client, hidden, "field")):
                        with self.assertRaises(Raised) as raised:
                            action()
                        self.assertEqual(raised.exception.type, DENIED)

    def test_an_array_is_judged_by_its_elements_class(self):
        with self.peer(MAKER) as peer, WebSocketClient(peer) as client:
            array = client.call("fixtures.heritage.Heritage", "array")
            for action in (lambda: get(client, array, "length"), lambda: call(client, array, "clone"),
                           lambda: get(client, array, "[0]"), lambda: put(client, array, "[0]", None)):
                with self.assertRaises(RpcError) as raised:
                    action()
                self.assertEqual(raised.exception.code, DENIED_CODE)
                self.assertIn(HIDDEN, raised.exception.detail)

    def test_a_class_without_a_writable_name_is_judged_too(self):
        rules = "  - {class: java.util.function.Function, members: STATIC_METHOD, action: ALLOW}\n"
        with self.peer(rules) as peer, WebSocketClient(peer) as client:
            function = lambda_of(client)
            with self.assertRaises(RpcError) as raised:
                call(client, function, "apply", typed("String", "x"))
            self.assertEqual(raised.exception.code, DENIED_CODE)
        with self.peer("  - {class: java.util.function.Function, action: ALLOW}\n") as peer:
            with WebSocketClient(peer) as client:
                self.assertEqual(call(client, lambda_of(client), "apply", typed("String", "x")), "x")

    def test_a_rule_that_denies_the_own_class_denies(self):
        rules = MAKER + f"  - {{class: \"{HIDDEN}\", action: DENY}}\n  - {{class: fixtures.heritage.Open, action: ALLOW}}\n"
        with self.peer(rules) as peer, WebSocketClient(peer) as client:
            hidden = client.call("fixtures.heritage.Heritage", "hidden")
            self.assert_denied(f"{HIDDEN}.read", lambda: call(client, hidden, "read"))

    def test_the_log_names_the_class_that_was_meant(self):
        rules = (MAKER + "  - {class: fixtures.heritage.Open, action: LOG_AND_ALLOW}\n"
                 "  - {class: java.util.ArrayList, action: LOG_AND_ALLOW}\n")
        with self.peer(rules, head="defaultAction: LOG_AND_DENY\n") as peer:
            with WebSocketClient(peer) as client:
                hidden, numbers = client.call("fixtures.heritage.Heritage", "hidden"), client.new("java.util.ArrayList")
                for _ in range(3):
                    call(client, hidden, "read")
                    call(client, numbers, "size")
                    self.assert_denied(f"{HIDDEN}.secret", lambda: call(client, hidden, "secret"))
            lines = [line for line in peer.stderr().splitlines() if "operation=call" in line]
        for name, member, verdict in ((HIDDEN, "read", "ALLOW"), ("java.util.ArrayList", "size", "ALLOW"),
                                      (HIDDEN, "secret", "DENY")):
            found = [line for line in lines if f'class="{name}" member="{member}" verdict={verdict}' in line]
            self.assertEqual(len(found), 3, lines)


if __name__ == "__main__":
    unittest.main()
