"""Results by value contain only what the policy lets the client read (docs/policy.md, "Results by value")."""

import itertools
import json
import signal

from support import colfer
from support.binary_client import BinaryClient, call_message
from support.callback_client import CallbackClient
from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, own_name, ref
from support.peer import FIXTURES, eventually
from support.peer_case import DENIED, PeerCase, allow, deny

TRANSPORTS = (WebSocketClient, HttpClient, ZmqClient)
VALUES = "fixtures.values.Values"
MAKER, OPEN, SECRET, EVERY = allow(VALUES), allow(VALUES + "$Open*"), deny(VALUES + "$Secret*"), allow("**")
# Values that are denied as a whole, each for another reason, and their methods that run before the denial is known.
CLOSED = ("list", "map", "mapOfSecretEntry", "mapOfEntries", "mapOfSecretSet", "bag", "array", "arrays")
# Values that show a ref in place of their content.
HOLDERS = {"inList": '["open",REF]', "inMap": '{"open":REF}', "inArray": '["open",REF]',
           "deep": '{"open":[{"in":[REF,REF]}]}', "secretEntryInList": '["open",REF]',
           "secretIteratorInList": '["open",REF]'}
JDK = {"list": [1, "a", [True]], "array": [1, ["b"], [2]], "set": ["c"]}


def without_refs(value):
    """The JSON text, with REF for each {"ref": N}."""
    if isinstance(value, dict) and set(value) == {"ref"}:
        return "REF"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{without_refs(each)}" for key, each in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(without_refs, value)) + "]"
    return json.dumps(value)


class ValueCase(PeerCase):
    def value_of(self, what, client=None):
        """Calls a method of VALUES by its own name. Returns the result."""
        return own_name(client or self.client, f"{VALUES}.{what}")

    def asked(self, what, client=None, **options):
        """Calls a method of VALUES by `call`. Returns the value object."""
        reply = (client or self.client).request("call", {"type": VALUES, "method": what}, options=options)
        return reply["result"]["value"]

    def fetch(self, client, number):
        """Returns all elements. Raises RpcError for the first error."""
        elements, done = [], False
        while not done:
            reply = client.request("jpeer.fetch", {"instance": ref(number)})
            if "error" in reply:
                raise RpcError(reply["error"])
            result = reply["result"]
            # Each entry that may not be read is a ref.
            if any(isinstance(each, dict) and "ref" in each for each in result["elements"]):
                raise RpcError({"code": DENIED, "message": "RPC access denied", "data": {"message": "an entry"}})
            elements, done, number = elements + result["elements"], result["done"], result.get("ref")
        return elements


class DeniedByDefault(ValueCase):
    """Values whose classes are denied by the default; DeniedByARule has the same tests."""

    options = ()
    rules = MAKER + OPEN

    def test_the_contents_of_what_a_client_may_not_read(self):
        for client in self.each(*TRANSPORTS):
            for what in CLOSED * 2:
                with self.subTest(what=what):
                    self.value_of("runs", client)
                    result = self.value_of(what, client)
                    self.assertEqual(list(result), ["ref"], result)
                    if what in ("list", "map", "array"):
                        self.assertEqual(self.value_of("runs", client), 0)
                    self.assert_denied(self.fetch, client, result["ref"])

    def test_in_something_that_may_be_read(self):
        for client in self.each(*TRANSPORTS):
            for what, wanted in HOLDERS.items():
                self.assertEqual(without_refs(self.value_of(what, client)), wanted, what)

    def test_binary_replies(self):
        for shape in BinaryClient.SHAPES:
            client = self.connect(BinaryClient, shape)
            for what in (*CLOSED, *HOLDERS, "list"):
                message = client.addressed(call_message(VALUES, what))
                self.assertNotIn(b"SECRET", client.exchange_bytes(colfer.encode("Message", message)), (shape, what))
            self.assertEqual(client.call(VALUES, "open"), JDK)

    def test_elements_of_an_array(self):
        """options.elements has the same results as a range and jpeer.fetch."""
        for client in self.each(*TRANSPORTS):
            for types in ({}, {"types": True}):
                for what in ("array", "arrays"):
                    self.assertEqual(set(self.asked(what, client, elements=True, **types)), {"type", "null", "ref"})
            held = client.call(VALUES, "array")
            for field in ("[0]", "[0:2]"):
                self.assert_denied(client.get, VALUES + "$Secret[]", field, on=held)
            self.assert_denied(self.fetch, client, held)
            shown = json.loads(self.asked("inArray", client, elements=True)["value"])
            self.assertEqual(without_refs(shown), '["open",REF]')


class DeniedByARule(DeniedByDefault):
    rules = SECRET + EVERY


class DeniedWithCompatPal(ValueCase):
    def test_nothing_of_it_is_sent(self):
        for rules in (MAKER + OPEN, SECRET + EVERY):
            client = self.serve_with(rules, "--compat", "pal")
            self.assertEqual(client.value("call", {"type": VALUES, "method": "array"})["value"], "")
            for what in CLOSED:
                self.assertNotIn("SECRET", json.dumps(self.value_of(what)))


class Allowed(ValueCase):
    options = ()
    rules = EVERY

    def test_binary_replies(self):
        client = self.connect(BinaryClient)
        for what in ("list", "map", "inList", "bag"):
            message = client.addressed(call_message(VALUES, what))
            self.assertIn(b"SECRET", client.exchange_bytes(colfer.encode("Message", message)), what)

    def test_what_may_be_read_is_a_value(self):
        for _ in range(3):
            for what, wanted in (("list", '["SECRET0","SECRET1"]'), ("map", '{"SECRET0":"SECRET1"}'),
                                 ("mapOfSecretEntry", '{"SECRET0":"SECRET1"}'), ("array", "[REF,REF]"),
                                 ("mapOfEntries", '{"SECRET0":"SECRET1","a":1,"b":2}'),
                                 ("mapOfSecretSet", '{"SECRET0":"SECRET1"}'), ("arrays", "[[REF,REF]]"),
                                 ("bag", '["SECRET0","SECRET1"]'), ("inArray", '["open",["SECRET0","SECRET1"]]')):
                self.assertEqual(without_refs(self.value_of(what)), wanted)
        self.assertEqual(without_refs(json.loads(self.asked("array", elements=True)["value"])), "[REF,REF]")

    def test_elements_that_can_be_had_once_are_not_lost_to_the_policys_question(self):
        self.assertEqual(self.value_of("oneShot"), ["a", "b"])
        self.assertEqual(self.value_of("mapOfOneShot"), {"a": 1, "b": 2})


class AllowedByItsName(Allowed):
    rules = MAKER + allow(VALUES + "$*") + allow("java.util.Iterator")


class Rules(ValueCase):
    def test_nested_in_an_allowed_fetch(self):
        lists = MAKER + allow("java.util.List") + allow("java.util.Iterator") + allow("java.lang.Iterable")
        for rules, wanted in ((lists, '["open",["SECRET0","SECRET1"]]'),  # a rule that allows List
                              (SECRET + EVERY, '["open",REF]')):
            client = self.serve_with(rules)
            reply = client.request("jpeer.fetch", {"instance": ref(client.call(VALUES, "inList"))})
            self.assertEqual(without_refs(reply["result"]["elements"]), wanted)

    def test_objects_of_the_jdks_own_classes_need_no_rule(self):
        rest = ("deny-unsafe,deny-jdk-internals,deny-classloading,deny-reflection,deny-serialization,deny-scripting,"
                "deny-files,deny-nonpublic")
        for options in ((), ("--rpc-policy-preset", rest)):
            self.start("--rpc-allow", "fixtures.**", *options, allow=False)
            for client in self.each(*TRANSPORTS):
                self.assertEqual(self.value_of("open", client), JDK)
                self.assertEqual(self.value_of("list", client), ["SECRET0", "SECRET1"])

    def test_a_rule_against_a_class_of_the_jdks_own(self):
        whole = '{"array":[1,["b"],[2]],"list":[1,"a",[true]],"set":["c"]}'
        no_list = '{"array":[1,["b"],[2]],"list":REF,"set":["c"]}'
        for rule, wanted in (
                (deny("java.util.ArrayList"), no_list), (deny("java.util.List", method="size"), no_list),
                (deny("java.util.Collection", method="toArray"), "REF"), (deny("java.util.Iterator", method="next"), "REF"),
                (deny("java.util.Map$Entry"), "REF"), (deny("java.util.HashMap"), "REF"), (deny("java.util.HashMap$*"), "REF"),
                (deny("java.lang.Object", members="FIELD_GET"), '{"array":REF,"list":[1,"a",[true]],"set":["c"]}'),
                (deny("java.lang.String", members="FIELD_GET"), '{"array":[1,REF,[2]],"list":[1,"a",[true]],"set":["c"]}'),
                (deny("**"), whole), (deny("java.util.ArrayList", channel="ZMQ_SOCKET_RPC"), whole)):
            with self.subTest(rule):
                self.start_with(MAKER + rule)
                for _ in range(2):
                    self.assertEqual(without_refs(self.value_of("open")), wanted)

    def test_a_value_is_a_ref_if_one_member_that_reads_it_is_denied(self):
        for method, closed in (("size", ("list", "inList")), ("toArray", ("list", "inList")),
                               ("iterator", ("list", "inList")), ("entrySet", ("map",)),
                               ("getKey", ("mapOfSecretEntry",)), ("getValue", ("mapOfSecretEntry",)),
                               ("next", ("bag",)), ("hasNext", ("bag",))):
            with self.subTest(method):
                self.start_with(deny(VALUES + "$Secret*", method=method) + EVERY)
                for what in closed:
                    self.assertIn(without_refs(self.value_of(what)), ("REF", '["open",REF]'))

    def test_proxies_of_the_boot_loader_are_none_of_the_jdks_own(self):
        client = self.serve_with(MAKER)
        client.call(VALUES, "runs")
        self.assertEqual(list(self.value_of("proxy")), ["ref"])
        self.assertEqual(client.call(VALUES, "runs"), "0")
        for what in ("proxies", "arraysOfProxies"):
            self.assertEqual(list(self.value_of(what)), ["ref"])
            self.assertEqual(set(self.asked(what, elements=True)), {"type", "null", "ref"})
            self.assert_denied(self.fetch, client, client.call(VALUES, what))
        self.start_with(MAKER + allow("java.util.List") + allow("java.util.Collection"))
        self.assertEqual(self.value_of("proxy"), ["SECRET0", "SECRET1"])  # allowed by a supertype, as for jpeer.fetch

    def test_classes_that_are_added_to_the_boot_loader_are_none_of_the_jdks_own(self):
        client = self.serve_with(MAKER, "-J", f"-Xbootclasspath/a:{FIXTURES}")
        self.assertEqual(client.call(VALUES, "isOfBootLoader"), "true")
        for what in CLOSED:
            self.assertEqual(list(self.value_of(what)), ["ref"], what)
        self.assertEqual(self.value_of("open"), JDK)

    def test_elements_and_results_need_the_right_to_read_fields(self):
        """An element, a range, jpeer.fetch and results are judged as one field."""
        client = self.serve_with(deny(VALUES + "$Secret", members="FIELD_GET") + EVERY)
        held = client.call(VALUES, "array")
        for field in ("[0]", "[0:1]"):
            self.assert_denied(client.get, VALUES + "$Secret[]", field, on=held)
        self.assert_denied(self.fetch, client, held)
        self.assertEqual(list(self.value_of("array")), ["ref"])

    def test_arrays_of_strings_beside_their_ref(self):
        client = self.serve_with(deny("java.lang.String", members="FIELD_GET") + EVERY)
        self.assertEqual(set(client.value("call", {"type": VALUES, "method": "texts"})), {"type", "null", "ref"})

    def test_what_java_gives_a_callback(self):
        for rules in (MAKER + allow("java.util.function.Function"), SECRET + EVERY):
            self.start_with(rules)
            client, given = self.connect(CallbackClient), []

            def function(call):
                given.append(call.values[0])
                reply = client.request("jpeer.fetch", {"instance": ref(call.args[0])})
                return {"type": "int", "value": reply["error"]["code"]}

            self.assertEqual(client.call(VALUES, "give", client.give(function)), str(DENIED))
            self.assertNotIn("SECRET", json.dumps(given))

    def test_each_channel_has_verdicts_of_its_own(self):
        self.start_with(MAKER + allow(VALUES + "$Secret*", channel="HTTP_RPC"), "--rpc-threads", "1", "--rpc-threads-max", "1")
        other = self.connect(HttpClient)
        for _ in range(4):
            self.assertEqual(list(self.value_of("list")), ["ref"])
            self.assertEqual(self.value_of("list", other), ["SECRET0", "SECRET1"])

    def test_a_reload_is_seen(self):
        self.start_with(EVERY, "--rpc-policy-watch-interval", "50")
        self.assertEqual(self.value_of("list"), ["SECRET0", "SECRET1"])
        self.put_policy(MAKER)
        eventually(lambda: list(self.value_of("list")) == ["ref"], "the new policy is in force")

    def test_a_batch_that_names_such_a_result(self):
        client = self.serve_with(MAKER + allow("java.lang.String", method="valueOf"))
        batch = [{"jsonrpc": "2.0", "id": "a", "method": VALUES + ".list"},
                 {"jsonrpc": "2.0", "id": 1, "method": "jpeer.fetch", "params": {"instance": {"result": "a"}}},
                 {"jsonrpc": "2.0", "id": 2, "method": VALUES + "$SecretList.size", "params": [{"ref": {"result": "a"}}]}]
        replies = {reply["id"]: reply for reply in json.loads(client.exchange(json.dumps(batch)))}
        self.assertEqual(list(replies["a"]["result"]), ["ref"])
        self.assertEqual([replies[i]["error"]["code"] for i in (1, 2)], [DENIED, DENIED])


class Entries(ValueCase):
    """A map with more entries than an answer has room for."""

    COUNT, LENGTH = 60, 20_000

    def start_and_hold(self):
        self.start_with(EVERY, "--message-max", "262144", "--send-buffer-max", "262144")
        return self.client.call(VALUES, "longEntries", self.COUNT, self.LENGTH)

    def fetch_entries(self, number, options):
        reply = self.client.request("jpeer.fetch", {"instance": ref(number), "max": 1000}, options=options)
        self.assertIn("result", reply)
        return reply["result"]["elements"]

    def test_a_reload_counts_for_entries_that_have_been_read_before(self):
        """Elements that a fetch has read, but that did not fit into its answer, are judged again by the next
        fetch."""
        for options in ({}, {"types": True}):
            held = self.start_and_hold()
            first = self.fetch_entries(held, options)
            self.assertEqual([each[0] for each in first], list(range(len(first))))
            self.assertLess(len(first), self.COUNT)
            self.assertEqual(self.value_of("runs"), self.COUNT)  # all entries were read
            self.put_policy(deny(VALUES + "$LongEntry") + deny(VALUES, method="texts") + EVERY)
            self.peer.send_signal(signal.SIGHUP)
            texts = {"type": VALUES, "method": "texts"}
            eventually(lambda: "error" in self.client.request("call", texts), "the new policy is in force")
            rest = self.fetch_entries(held, options)
            self.assertEqual([set(each) - {"type"} for each in rest], [{"ref"}] * (self.COUNT - len(first)))

    def test_entries_are_read_once(self):
        """Entries that wait for the next answer are sent without change, with and without their types."""
        held, entries = self.start_and_hold(), []
        for options in itertools.cycle(({}, {"types": True})):
            entries += self.fetch_entries(held, options)
            if len(entries) >= self.COUNT:
                break
        self.assertEqual(entries, [[i, "S" * self.LENGTH] for i in range(self.COUNT)])
        self.assertEqual(self.value_of("runs"), self.COUNT)
