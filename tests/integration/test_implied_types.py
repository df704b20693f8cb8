"""`type` left out beside an instance: the object's own class is meant, whatever request of the same form came before
(docs/protocol.md, "new, call, get, put")."""

from support.binary_client import DENIED as DENIED_TYPE
from support.binary_client import plain as plain_obj
from support.binary_client import BinaryClient, exec_message, named
from support.clients import HttpClient, RpcError, ShmClient, WebSocketClient, ZmqClient, own_name, plain, ref, typed
from support.peer_case import INVALID, NOT_FOUND, BinaryCase, allow

CLIENTS = (WebSocketClient, HttpClient, ZmqClient, ShmClient)
HIDDEN = "fixtures.heritage.Heritage$Hidden"
MAKER = allow("fixtures.heritage.Heritage", members="STATIC_METHOD")
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


class ImpliedTypes(BinaryCase):
    peer_arguments = {"sockets": True}
    kind = WebSocketClient

    def test_each_object_is_called_by_its_own_class(self):
        for client in self.each(*CLIENTS):
            made = collections(client)
            for _ in range(ROUNDS):
                for number, size in made:
                    self.assertEqual(call(client, number, "size"), size)
                    self.assertEqual(call(client, number, "size", types=True), size)
                    self.assertEqual(client.call("java.util.ArrayList", "size", on=made[0][0]), "1")
                self.assert_fails(INVALID, "", client.call, "java.util.ArrayList", "size", on=made[1][0])
                self.assertEqual(own_name(client, "java.util.LinkedList.size", ref(made[1][0])), 2)
            for number, _ in made * ROUNDS:
                self.assertEqual(call(client, number, "size"), dict(made)[number])

    def test_a_field_and_a_method_that_differ_by_class(self):
        client = self.client
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
        self.assert_fails(NOT_FOUND, "age", get, client, ints, "age")

    def test_binary_messages(self):
        client = self.connect(BinaryClient)
        lists = [client.new("java.util.ArrayList"), client.new("java.util.LinkedList")]
        client.call("java.util.LinkedList", "add", "x", on=lists[1])
        ints, longs = client.new("int[]", 3), client.new("long[]", 5)
        for _ in range(ROUNDS):
            self.assertEqual([binary_call(client, each, "size") for each in lists], [0, 1])
            self.assertEqual(client.call("java.util.ArrayList", "size", on=lists[0]), 0)
            self.assertEqual([binary_get(client, each, "length") for each in (ints, longs)], [3, 5])
            raised = self.raised_by(client.call, "java.util.ArrayList", "size", on=lists[1])
            self.assertNotEqual(raised.type, "")
        empty = exec_message(2, clazz=named(""), name="size", args=[], objectRef=lists[1])
        self.assertEqual(plain_obj(client.result(empty)), 1)
        for message in (exec_message(2, name="size", args=[], objectRef=0), exec_message(3, name="size", args=[])):
            raised = self.raised_by(client.result, message)
            self.assertIn("Type is missing in params", raised.text)

    def test_classes_that_no_request_can_name(self):
        for client in self.each(*CLIENTS):
            function = lambda_of(client)
            name = call(client, call(client, function, "getClass"), "getName")
            self.assertIn("/", name)
            for _ in range(ROUNDS):
                self.assertEqual(call(client, function, "apply", typed("String", "x")), "x")
                # Neither does the untyped request before let that name mean a class, nor the other way round.
                self.assert_fails(INVALID, "Invalid characters in type", client.call, name, "apply", typed("String", "x"),
                                  on=function)
            functions = client.call("java.lang.reflect.Array", "newInstance",
                                    ref(call(client, function, "getClass")), 2)
            self.assertEqual(get(client, functions, "length"), "2")
            put(client, functions, "[1]", ref(function))
            self.assertEqual(get(client, functions, "[1]"), function)
            self.assert_fails(NOT_FOUND, "nope", call, client, function, "nope")

    def test_a_proxy_of_a_method_handle(self):
        client = self.client
        lookup = client.call("java.lang.invoke.MethodHandles", "publicLookup")
        string = client.call("java.lang.Class", "forName", "java.lang.String")
        function = client.call("java.lang.Class", "forName", "java.util.function.UnaryOperator")
        kind = client.call("java.lang.invoke.MethodType", "methodType", ref(string))
        handle = call(client, lookup, "findVirtual", ref(string), "toUpperCase", ref(kind))
        proxy = client.call("java.lang.invoke.MethodHandleProxies", "asInterfaceInstance", ref(function), ref(handle))
        for _ in range(ROUNDS):
            self.assertEqual(call(client, proxy, "apply", typed("String", "up")), "UP")

    def test_a_class_that_is_not_public(self):
        client = self.client
        hidden = client.call("fixtures.heritage.Heritage", "hidden")
        below = client.call("fixtures.heritage.Heritage", "below")
        for _ in range(ROUNDS):
            self.assertEqual(call(client, hidden, "read"), "Hidden")
            self.assertEqual(get(client, hidden, "field"), "field")
            self.assertEqual(call(client, hidden, "greeting"), "secret")  # a static member
            self.assertEqual(call(client, below, "read"), client.call("fixtures.heritage.Open", "read", on=below))

    def test_classes_of_one_name_of_two_loaders(self):
        client = self.client
        beans = []
        for name in ("one", "two"):
            loader = client.call("fixtures.Loading", "own", name)
            beans.append((client.call("fixtures.Loading", "bean", ref(loader)), name))
        classes = {call(client, call(client, bean, "getClass"), "hashCode") for bean, _ in beans}
        self.assertEqual(len(classes), 2)
        for _ in range(ROUNDS):
            for bean, name in beans:
                self.assertEqual(call(client, bean, "loaderName"), name)


class Policies(BinaryCase):
    options = None
    kind = WebSocketClient

    def test_an_allowed_supertype_opens_what_it_declares(self):
        self.start_with(MAKER + allow("fixtures.heritage.Open"), sockets=True)
        for client in self.each(*CLIENTS):
            hidden = client.call("fixtures.heritage.Heritage", "hidden")
            for _ in range(ROUNDS):
                self.assertEqual(call(client, hidden, "read"), "Hidden")
                self.assertEqual(call(client, hidden, "take", typed("String", "it")), "took it")
                for method, args in (("secret", ()), ("greeting", ()), ("read", (1,)), ("nope", ()), ("notify", ())):
                    self.assert_denied(call, client, hidden, method, *args, text=f"denied: {HIDDEN}.{method} via")
                for action, *value in ((get,), (put, "x")):
                    self.assert_denied(action, client, hidden, "field", *value, text=f"denied: {HIDDEN}.field via")
        client = self.connect(BinaryClient)
        hidden = client.call("fixtures.heritage.Heritage", "hidden")
        for _ in range(ROUNDS):
            self.assertEqual(binary_call(client, hidden, "read"), "Hidden")
            for action, name in ((binary_call, "secret"), (binary_get, "field")):
                self.assertEqual(self.raised_by(action, client, hidden, name).type, DENIED_TYPE)

    def test_an_array_is_judged_by_its_elements_class(self):
        client = self.serve_with(MAKER)
        array = client.call("fixtures.heritage.Heritage", "array")
        for action, *args in ((get, "length"), (call, "clone"), (get, "[0]"), (put, "[0]", None)):
            self.assert_denied(action, client, array, *args, text=HIDDEN)

    def test_a_class_without_a_writable_name_is_judged_too(self):
        client = self.serve_with(allow("java.util.function.Function", members="STATIC_METHOD"))
        self.assert_denied(call, client, lambda_of(client), "apply", typed("String", "x"))
        client = self.serve_with(allow("java.util.function.Function"))
        self.assertEqual(call(client, lambda_of(client), "apply", typed("String", "x")), "x")

    def test_the_log_names_the_class_that_was_meant(self):
        client = self.serve_with(MAKER + "".join(allow(name, "LOG_AND_ALLOW") for name in (
            "fixtures.heritage.Open", "java.util.ArrayList")), head="defaultAction: LOG_AND_DENY\n")
        hidden, numbers = client.call("fixtures.heritage.Heritage", "hidden"), client.new("java.util.ArrayList")
        for _ in range(3):
            call(client, hidden, "read")
            call(client, numbers, "size")
            self.assert_denied(call, client, hidden, "secret", text=f"denied: {HIDDEN}.secret via")
        lines = [line for line in self.peer.stderr().splitlines() if "operation=call" in line]
        for name, member, verdict in ((HIDDEN, "read", "ALLOW"), ("java.util.ArrayList", "size", "ALLOW"),
                                      (HIDDEN, "secret", "DENY")):
            found = [line for line in lines if f'class="{name}" member="{member}" verdict={verdict}' in line]
            self.assertEqual(len(found), 3, lines)
