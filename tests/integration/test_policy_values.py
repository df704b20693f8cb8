"""Results by value hold what the policy lets the client read, and nothing else (docs/policy.md, "Results by value")."""

import itertools
import json
import signal
import time
import unittest

from support import colfer
from support.binary_client import BinaryClient, call_message
from support.callback_client import CallbackClient
from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient
from support.peer import FIXTURES, Peer
from test_policy import own_name, policy_file

VALUES = "fixtures.values.Values"
MAKER = f"  - {{class: {VALUES}, action: ALLOW}}\n"
OPEN = f'  - {{class: "{VALUES}$Open*", action: ALLOW}}\n'
SECRET = f'  - {{class: "{VALUES}$Secret*", action: DENY}}\n'
EVERY = "  - {class: '**', action: ALLOW}\n"
# What is denied as a whole, each in its own way, and what of it runs before that is known.
DENIED = ("list", "map", "mapOfSecretEntry", "mapOfEntries", "mapOfSecretSet", "bag", "array", "arrays")
# What shows a ref in place of what is in it.
HOLDERS = {"inList": '["open",REF]', "inMap": '{"open":REF}', "inArray": '["open",REF]',
           "deep": '{"open":[{"in":[REF,REF]}]}', "secretEntryInList": '["open",REF]',
           "secretIteratorInList": '["open",REF]'}
SMALL_ANSWERS = ("--message-max", "262144", "--send-buffer-max", "262144")
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


class Values(unittest.TestCase):
    def peer(self, rules, *options, head=""):
        self.file = policy_file("version: 1\n" + head + "rules:\n" + rules)
        self.addCleanup(self.file.close)
        return Peer("--rpc-policy", self.file.name, *options, allow=False)

    def assert_denied(self, action):
        with self.assertRaises(RpcError) as raised:
            action()
        self.assertEqual((raised.exception.code, raised.exception.message), (-32001, "RPC access denied"))

    def policies(self):
        """Denied by the default, by a rule, and by the preset that a rule is."""
        return (("default", MAKER + OPEN), ("rule", SECRET + EVERY))

    def test_the_contents_of_what_a_client_may_not_read(self):
        for name, rules in self.policies():
            with self.peer(rules) as peer:
                for transport in (WebSocketClient, HttpClient, ZmqClient):
                    with transport(peer) as client:
                        for what in DENIED * 2:
                            with self.subTest(name, transport=transport.name, what=what):
                                own_name(client, VALUES + ".runs")
                                result = own_name(client, f"{VALUES}.{what}")
                                self.assertEqual(list(result), ["ref"], result)
                                if what in ("list", "map", "array"):
                                    self.assertEqual(own_name(client, VALUES + ".runs"), 0)
                                self.assert_denied(lambda r=result: self.fetch(client, r["ref"]))

    def fetch(self, client, ref, **more):
        """All elements; raises RpcError for the first error."""
        elements = []
        while True:
            reply = client.request("jpeer.fetch", {"instance": {"ref": ref}, **more})
            if "error" in reply:
                raise RpcError(reply["error"])
            elements += reply["result"]["elements"]
            # Entries that may not be read are refs of their own.
            if any(isinstance(each, dict) and "ref" in each for each in reply["result"]["elements"]):
                raise RpcError({"code": -32001, "message": "RPC access denied", "data": {"message": "an entry"}})
            if reply["result"]["done"]:
                return elements
            ref = reply["result"]["ref"]

    def test_in_something_that_may_be_read(self):
        for name, rules in self.policies():
            with self.peer(rules) as peer:
                for transport in (WebSocketClient, HttpClient, ZmqClient):
                    with transport(peer) as client:
                        for what, wanted in HOLDERS.items():
                            with self.subTest(name, transport=transport.name, what=what):
                                self.assertEqual(without_refs(own_name(client, f"{VALUES}.{what}")), wanted)

    def test_nested_in_an_allowed_fetch(self):
        rules = MAKER + "".join(f"  - {{class: {name}, action: ALLOW}}\n" for name in (
            "java.util.List", "java.util.Iterator", "java.lang.Iterable"))
        for text in (rules, SECRET + EVERY):
            with self.subTest(text), self.peer(text) as peer:
                with WebSocketClient(peer) as client:
                    held = client.call(VALUES, "inList")
                    reply = client.request("jpeer.fetch", {"instance": {"ref": held}})
                    self.assertIn("result", reply)
                    wanted = '["open",REF]' if text != rules else '["open",["SECRET0","SECRET1"]]'
                    self.assertEqual(without_refs(reply["result"]["elements"]), wanted)  # an allowed List opens one

    def test_binary_replies(self):
        for name, rules in self.policies():
            with self.peer(rules) as peer:
                for shape in BinaryClient.SHAPES:
                    with BinaryClient(peer, shape) as client:
                        for what in (*DENIED, *HOLDERS, "list"):
                            with self.subTest(name, shape=shape, what=what):
                                message = client.addressed(call_message(VALUES, what))
                                reply = client.exchange_bytes(colfer.encode("Message", message))
                                self.assertNotIn(b"SECRET", reply)
                        self.assertEqual(client.call(VALUES, "open"), JDK)

    def test_binary_replies_of_what_may_be_read(self):
        with self.peer(EVERY) as peer:
            with BinaryClient(peer) as client:
                for what in ("list", "map", "inList", "bag"):
                    message = client.addressed(call_message(VALUES, what))
                    self.assertIn(b"SECRET", client.exchange_bytes(colfer.encode("Message", message)), what)

    def test_what_may_be_read_is_a_value(self):
        for rules in (EVERY, MAKER + f'  - {{class: "{VALUES}$*", action: ALLOW}}\n'):
            with self.subTest(rules), self.peer(rules) as peer:
                with WebSocketClient(peer) as client:
                    for _ in range(3):
                        for what, wanted in (("list", '["SECRET0","SECRET1"]'), ("map", '{"SECRET0":"SECRET1"}'),
                                             ("mapOfSecretEntry", '{"SECRET0":"SECRET1"}'), ("array", "[REF,REF]"),
                                             ("mapOfEntries", '{"SECRET0":"SECRET1","a":1,"b":2}'),
                                             ("mapOfSecretSet", '{"SECRET0":"SECRET1"}'), ("arrays", "[[REF,REF]]"),
                                             ("bag", '["SECRET0","SECRET1"]'), ("inArray", '["open",["SECRET0","SECRET1"]]')):
                            self.assertEqual(without_refs(own_name(client, f"{VALUES}.{what}")), wanted)

    def test_objects_of_the_jdks_own_classes_need_no_rule(self):
        rest = ("deny-unsafe,deny-jdk-internals,deny-classloading,deny-reflection,deny-serialization,deny-scripting,"
                "deny-files,deny-nonpublic")
        for options in (("--rpc-allow", "fixtures.**"), ("--rpc-allow", "fixtures.**", "--rpc-policy-preset", rest)):
            with self.subTest(options), Peer(*options, allow=False) as peer:
                for transport in (WebSocketClient, HttpClient, ZmqClient):
                    with transport(peer) as client:
                        self.assertEqual(own_name(client, VALUES + ".open"), JDK)
                        self.assertEqual(own_name(client, VALUES + ".list"), ["SECRET0", "SECRET1"])

    def test_a_rule_against_a_class_of_the_jdks_own(self):
        for rule, wanted in (
                ("class: java.util.ArrayList", '{"array":[1,["b"],[2]],"list":REF,"set":["c"]}'),
                ("class: java.util.List, method: size", '{"array":[1,["b"],[2]],"list":REF,"set":["c"]}'),
                ("class: java.util.Collection, method: toArray", "REF"),
                ("class: java.util.Iterator, method: next", "REF"),
                ("class: java.util.Map$Entry", "REF"), ("class: java.util.HashMap", "REF"),
                ("class: 'java.util.HashMap$*'", "REF"),
                ("class: java.lang.Object, members: FIELD_GET", '{"array":REF,"list":[1,"a",[true]],"set":["c"]}'),
                ("class: java.lang.String, members: FIELD_GET", '{"array":[1,REF,[2]],"list":[1,"a",[true]],"set":["c"]}'),
                ("class: '**'", '{"array":[1,["b"],[2]],"list":[1,"a",[true]],"set":["c"]}'),
                ("class: java.util.ArrayList, channel: ZMQ_SOCKET_RPC",
                 '{"array":[1,["b"],[2]],"list":[1,"a",[true]],"set":["c"]}')):
            with self.subTest(rule), self.peer(MAKER + f"  - {{{rule}, action: DENY}}\n") as peer:
                with WebSocketClient(peer) as client:
                    for _ in range(2):
                        self.assertEqual(without_refs(own_name(client, VALUES + ".open")), wanted)

    def test_a_member_that_reads_is_denied_alone(self):
        for method, closed in (("size", ("list", "inList")), ("toArray", ("list", "inList")),
                               ("iterator", ("list", "inList")), ("entrySet", ("map",)),
                               ("getKey", ("mapOfSecretEntry",)), ("getValue", ("mapOfSecretEntry",)),
                               ("next", ("bag",)), ("hasNext", ("bag",))):
            rules = f'  - {{class: "{VALUES}$Secret*", method: {method}, action: DENY}}\n' + EVERY
            with self.subTest(method), self.peer(rules) as peer:
                with WebSocketClient(peer) as client:
                    for what in closed:
                        result = own_name(client, f"{VALUES}.{what}")
                        self.assertNotIn("SECRET", json.dumps(result))
                        self.assertIn(without_refs(result), ("REF", '["open",REF]'))

    def test_a_proxy_of_the_boot_loader_is_none_of_the_jdks_own(self):
        with self.peer(MAKER) as peer:
            with WebSocketClient(peer) as client:
                client.call(VALUES, "runs")
                self.assertEqual(list(own_name(client, VALUES + ".proxy")), ["ref"])
                self.assertEqual(client.call(VALUES, "runs"), "0")
        with self.peer(MAKER + "  - {class: java.util.List, action: ALLOW}\n"
                       "  - {class: java.util.Collection, action: ALLOW}\n") as peer:
            with WebSocketClient(peer) as client:  # by a supertype, as jpeer.fetch would
                self.assertEqual(own_name(client, VALUES + ".proxy"), ["SECRET0", "SECRET1"])

    def test_an_array_of_proxies_is_none_of_the_jdks_own(self):
        with self.peer(MAKER) as peer:
            with WebSocketClient(peer) as client:
                for what in ("proxies", "arraysOfProxies"):
                    self.assertEqual(list(own_name(client, f"{VALUES}.{what}")), ["ref"])
                    reply = client.request("call", {"type": VALUES, "method": what}, options={"elements": True})
                    self.assertEqual(set(reply["result"]["value"]), {"type", "null", "ref"})
                    self.assert_denied(lambda w=what: self.fetch(client, client.call(VALUES, w)))

    def test_classes_that_are_added_to_the_boot_loader_are_none_of_the_jdks_own(self):
        with self.peer(MAKER, "-J", f"-Xbootclasspath/a:{FIXTURES}") as peer:
            with WebSocketClient(peer) as client:
                loader = client.request("call", {"type": VALUES, "method": "isOfBootLoader"})
                self.assertEqual(loader["result"]["value"]["value"], "true")
                for what in DENIED:
                    self.assertEqual(list(own_name(client, f"{VALUES}.{what}")), ["ref"], what)
                self.assertEqual(own_name(client, VALUES + ".open"), JDK)

    def test_elements_of_an_array(self):
        """options.elements tells what a range and jpeer.fetch tell."""
        for name, rules in self.policies():
            with self.peer(rules) as peer:
                for transport in (WebSocketClient, HttpClient, ZmqClient):
                    with self.subTest(name, transport=transport.name), transport(peer) as client:
                        for types in ({}, {"types": True}):
                            for what in ("array", "arrays"):
                                reply = client.request("call", {"type": VALUES, "method": what},
                                                       options={"elements": True, **types})
                                value = reply["result"]["value"]
                                self.assertEqual(set(value), {"type", "null", "ref"}, value)
                        held = client.call(VALUES, "array")
                        for field in ("[0]", "[0:2]"):
                            self.assert_denied(lambda f=field: client.get(VALUES + "$Secret[]", f, on=held))
                        self.assert_denied(lambda: self.fetch(client, held))
                        reply = client.request("call", {"type": VALUES, "method": "inArray"}, options={"elements": True})
                        self.assertEqual(without_refs(json.loads(reply["result"]["value"]["value"])), '["open",REF]')

    def test_elements_of_an_array_that_may_be_read(self):
        with self.peer(EVERY) as peer:
            with WebSocketClient(peer) as client:
                reply = client.request("call", {"type": VALUES, "method": "array"}, options={"elements": True})
                self.assertEqual(without_refs(json.loads(reply["result"]["value"]["value"])), "[REF,REF]")

    def test_fields_denied_alone(self):
        """An element, a range, jpeer.fetch and results are judged as one field."""
        rules = f'  - {{class: "{VALUES}$Secret", members: FIELD_GET, action: DENY}}\n' + EVERY
        with self.peer(rules) as peer:
            with WebSocketClient(peer) as client:
                held = client.call(VALUES, "array")
                self.assert_denied(lambda: client.get(VALUES + "$Secret[]", "[0]", on=held))
                self.assert_denied(lambda: client.get(VALUES + "$Secret[]", "[0:1]", on=held))
                self.assert_denied(lambda: self.fetch(client, held))
                self.assertEqual(list(own_name(client, VALUES + ".array")), ["ref"])

    def test_arrays_of_strings_beside_their_ref(self):
        rules = "  - {class: java.lang.String, members: FIELD_GET, action: DENY}\n" + EVERY
        with self.peer(rules) as peer:
            with WebSocketClient(peer) as client:
                value = client.value("call", {"type": VALUES, "method": "texts"})
                self.assertEqual(set(value), {"type", "null", "ref"})

    def test_compat_pal(self):
        for name, rules in self.policies():
            with self.subTest(name), self.peer(rules, "--compat", "pal") as peer:
                with WebSocketClient(peer) as client:
                    reply = client.request("call", {"type": VALUES, "method": "array"})
                    self.assertEqual(reply["result"]["value"]["value"], "", reply)
                    for what in DENIED:
                        self.assertNotIn("SECRET", json.dumps(own_name(client, f"{VALUES}.{what}")))

    def test_what_java_gives_a_callback(self):
        for name, rules in (("default", MAKER + "  - {class: java.util.function.Function, action: ALLOW}\n"),
                            ("rule", SECRET + EVERY)):
            with self.subTest(name), self.peer(rules) as peer:
                with CallbackClient(peer) as client:
                    given = []

                    def function(call):
                        given.append(call.values[0])
                        reply = client.request("jpeer.fetch", {"instance": {"ref": call.args[0]}})
                        return {"type": "int", "value": reply["error"]["code"]}

                    self.assertEqual(client.call(VALUES, "give", client.give(function)), "-32001")
                    self.assertNotIn("SECRET", json.dumps(given))

    def test_each_channel_has_verdicts_of_its_own(self):
        rules = MAKER + f'  - {{class: "{VALUES}$Secret*", action: ALLOW, channel: HTTP_RPC}}\n'
        with self.peer(rules, "--rpc-threads", "1", "--rpc-threads-max", "1") as peer:
            with WebSocketClient(peer) as client, HttpClient(peer) as other:
                for _ in range(4):
                    self.assertEqual(list(own_name(client, VALUES + ".list")), ["ref"])
                    self.assertEqual(own_name(other, VALUES + ".list"), ["SECRET0", "SECRET1"])

    def test_a_reload_is_seen(self):
        with self.peer(EVERY, "--rpc-policy-watch-interval", "50") as peer:
            with WebSocketClient(peer) as client:
                self.assertEqual(own_name(client, VALUES + ".list"), ["SECRET0", "SECRET1"])
                with open(self.file.name, "w", encoding="utf-8") as file:
                    file.write("version: 1\nrules:\n" + MAKER)
                deadline = time.monotonic() + 20
                while own_name(client, VALUES + ".list") == ["SECRET0", "SECRET1"]:
                    self.assertLess(time.monotonic(), deadline, "the old policy is in force 20 s after the change")
                    time.sleep(0.02)
                self.assertEqual(list(own_name(client, VALUES + ".list")), ["ref"])

    def test_a_reload_counts_for_entries_that_have_been_read_before(self):
        """What one fetch has read, and its answer had no room for, is judged again by the next."""
        count, length = 60, 20_000  # more than an answer has room for
        denied = f'  - {{class: "{VALUES}$LongEntry", action: DENY}}\n  - {{class: {VALUES}, method: texts, action: DENY}}\n'
        for options in ({}, {"types": True}):
            with self.subTest(options), self.peer(EVERY, *SMALL_ANSWERS) as peer, WebSocketClient(peer) as client:
                held = client.call(VALUES, "longEntries", count, length)
                first = self.fetch_entries(client, held, options)
                self.assertEqual([each[0] for each in first], list(range(len(first))))
                self.assertLess(len(first), count)
                self.assertEqual(own_name(client, VALUES + ".runs"), count)  # all have been read
                with open(self.file.name, "w", encoding="utf-8") as file:
                    file.write("version: 1\nrules:\n" + denied + EVERY)
                peer.process.send_signal(signal.SIGHUP)
                deadline = time.monotonic() + 20
                while "error" not in client.request("call", {"type": VALUES, "method": "texts"}):
                    self.assertLess(time.monotonic(), deadline, "the old policy is in force 20 s after the change")
                    time.sleep(0.02)
                rest = self.fetch_entries(client, held, options)
                self.assertEqual([set(each) - {"type"} for each in rest], [{"ref"}] * (count - len(first)))

    def fetch_entries(self, client, number, options):
        reply = client.request("jpeer.fetch", {"instance": {"ref": number}, "max": 1000}, options=options)
        self.assertIn("result", reply)
        return reply["result"]["elements"]

    def test_entries_are_read_once(self):
        """Those that wait for a next answer are told as they were, with and without their types."""
        count, length = 60, 20_000
        with self.peer(EVERY, *SMALL_ANSWERS) as peer, WebSocketClient(peer) as client:
            held = client.call(VALUES, "longEntries", count, length)
            told = []
            for options in itertools.cycle(({}, {"types": True})):
                told += self.fetch_entries(client, held, options)
                if len(told) >= count:
                    break
            self.assertEqual(told, [[i, "S" * length] for i in range(count)])
            self.assertEqual(own_name(client, VALUES + ".runs"), count)

    def test_elements_that_can_be_had_once_are_not_lost_to_the_policys_question(self):
        for rules in (EVERY, MAKER + f'  - {{class: "{VALUES}$*", action: ALLOW}}\n  - {{class: java.util.Iterator, action: ALLOW}}\n'):
            with self.subTest(rules), self.peer(rules) as peer, WebSocketClient(peer) as client:
                self.assertEqual(own_name(client, VALUES + ".oneShot"), ["a", "b"])
                self.assertEqual(own_name(client, VALUES + ".mapOfOneShot"), {"a": 1, "b": 2})

    def test_a_batch_that_names_such_a_result(self):
        with self.peer(MAKER + "  - {class: java.lang.String, method: valueOf, action: ALLOW}\n") as peer:
            with WebSocketClient(peer) as client:
                batch = [{"jsonrpc": "2.0", "id": "a", "method": VALUES + ".list"},
                         {"jsonrpc": "2.0", "id": 1, "method": "jpeer.fetch", "params": {"instance": {"result": "a"}}},
                         {"jsonrpc": "2.0", "id": 2, "method": VALUES + "$SecretList.size", "params": [{"ref": {"result": "a"}}]}]
                replies = {reply["id"]: reply for reply in json.loads(client.exchange(json.dumps(batch)))}
                self.assertEqual(list(replies["a"]["result"]), ["ref"])
                self.assertEqual([replies[i]["error"]["code"] for i in (1, 2)], [-32001, -32001])


if __name__ == "__main__":
    unittest.main()
