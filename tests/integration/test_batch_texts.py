"""Long Strings that requests of a batch name again and again: each name costs what it takes to read, not a copy."""

import json
import unittest

from support.clients import HttpClient, RpcError, ShmClient, WebSocketClient, ZmqClient
from support.peer import Peer
from support.peer_case import PeerCase

LENGTH = 1_000_000
NAME = {"ref": {"result": "text"}}
KEPT_KIB = 96 * 1024  # what the peer may grow by in a batch whose copies would take 10 GB


def request(number, method, params, **members):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params, **members}


def make_text(length=LENGTH, unit="x", **members):
    return request("text", "call", {"type": "java.lang.String", "method": "repeat", "args": [length],
                                    "instance": {"type": "java.lang.String", "value": unit}}, **members)


def call(number, kind, method, *args, **members):
    return request(number, "call", {"type": kind, "method": method, "args": list(args)}, **members)


def results(client, batch):
    """By the ids: an error's message for what has failed, else the value object, or by an own name the value."""
    told = {}
    for answer in json.loads(client.exchange(json.dumps(batch))):
        result = answer.get("result")
        is_envelope = isinstance(result, dict) and "void" in result
        told[answer["id"]] = (answer["error"]["data"]["message"] if "error" in answer
                              else result.get("value") if is_envelope else result)
    return told


def plain(kind, value):
    return {"type": kind, "null": False, "value": value}


class LongTexts(PeerCase):
    def unkept(self, **members):
        return make_text(options={"keep": False}, **members)

    def test_many_names_cost_no_copies(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            results(client, [self.unkept(), call(0, "java.util.Objects", "isNull", NAME)])
            before = peer.peak_kib()
            lists = [call(i, "java.util.Objects", "isNull", {"type": "java.util.List", "value": [NAME] * 10})
                     for i in range(990)]
            told = results(client, [self.unkept(), *lists])
            self.assertEqual({json.dumps(told[i]) for i in range(990)}, {json.dumps(plain("boolean", "false"))})
            self.assertLess(peer.peak_kib() - before, KEPT_KIB)

    def test_in_every_place(self):
        unit, length = "a\"\u00e9\\\U0001f600\t", 300
        text = unit * length
        units = len(text.encode("utf-16-le")) // 2
        for transport in (WebSocketClient, HttpClient, ZmqClient, ShmClient):
            with self.subTest(transport.name), Peer(sockets=True) as peer, transport(peer) as client:
                string = {"type": "java.lang.String"}
                told = results(client, [
                    make_text(length, unit),
                    request(1, "call", {**string, "method": "length", "instance": {"result": "text"}}),
                    request(2, "call", {**string, "method": "equals", "instance": {"result": "text"}, "args": [NAME]}),
                    call(3, "java.util.Objects", "equals", NAME, {**string, "value": text}),
                    call(4, "java.util.Objects", "equals", {"type": "java.lang.Object", **NAME}, {**string, "value": text}),
                    call(5, "java.lang.CharSequence", "compare", {"type": "CharSequence", **NAME}, NAME),
                    call(6, "java.util.List", "of", NAME, NAME, 5),
                    call(7, "java.util.Map", "of", "k", NAME),
                    call(8, "fixtures.Keyed", "any", {"type": "java.util.Map", "value": {"k": NAME}}),
                    call(9, "java.lang.String", "join", "", {"type": "java.lang.CharSequence[]", "value": [NAME]}),
                    request(10, "java.lang.String.length", [NAME]),
                    request(11, "java.util.Objects.toString", [NAME]),
                    request(12, "java.util.Objects.hash", [NAME]),
                    request(13, "new", {"type": "java.lang.StringBuilder", "args": [NAME]}),
                    request(14, "call", {"type": "java.lang.StringBuilder", "method": "length", "instance": {"result": 13}}),
                    request(15, "new", {"type": "fixtures.Fields"}),
                    *[request(20 + i, "put", {"type": "fixtures.Fields", "field": field, "value": NAME,
                                              "instance": {"result": 15}})
                      for i, field in enumerate(("aString", "anObject"))],
                    *[request(30 + i, "get", {"type": "fixtures.Fields", "field": field, "instance": {"result": 15}})
                      for i, field in enumerate(("aString", "anObject"))],
                    request(16, "java.lang.String.length", {"instance": {"result": "text"}}),
                    call(17, "java.lang.Integer", "parseInt", NAME),
                ])
                self.assertEqual(told["text"], plain("java.lang.String", text))
                self.assertEqual([told[i] for i in (1, 2, 3, 4, 5)],
                                 [plain("int", str(units)), *[plain("boolean", "true")] * 3, plain("int", "0")])
                self.assertEqual([told[i]["type"] for i in (6, 7)],
                                 ["java.util.ImmutableCollections$ListN", "java.util.ImmutableCollections$Map1"])
                self.assertEqual(told[8]["value"], f"[String:k=String:{text}]")
                self.assertEqual(told[9]["value"], text)
                self.assertEqual((told[10], told[11], told[16]), (units, text, units))
                self.assertEqual(told[14], plain("int", str(units)))
                self.assertEqual((told[30]["value"], told[31]["value"]), (text, text))
                self.assertIn("For input string", told[17])

    def test_other_types_read_the_text_themselves(self):
        """These are copies, as before: what they cost depends on the text."""
        with Peer() as peer, WebSocketClient(peer) as client:
            told = results(client, [
                make_text(2000, "7"),
                call(1, "java.util.Objects", "toString", {"type": "java.math.BigInteger", **NAME}),
                call(2, "java.lang.Math", "abs", {"type": "int", **NAME}),
                call(3, "java.lang.Math", "abs", {**NAME, "type": "long"}),
                call(4, "java.lang.Math", "abs", NAME),
                call(5, "java.util.Objects", "isNull", {"type": "int[]", "value": [NAME]}),
                call(6, "java.util.Objects", "isNull", {**NAME, "type": "java.lang.Object"}),
                call(7, "java.util.Objects", "isNull", {**NAME, "value": 5}),
                request(8, "jpeer.fetch", {"instance": {"result": "text"}, "max": 3}),
                request(9, "control", {"method": "delete_object", "args": [NAME]}),
                request(10, "put", {"type": "fixtures.Fields", "field": "aStatic", "value": NAME}),
            ])
            self.assertEqual(told[1], plain("java.lang.String", "7" * 2000))
            for number, kind in ((2, "int"), (3, "long")):
                self.assertIn(f"out of range for {kind}", told[number])
            self.assertIn("abs", told[4])
            self.assertIn("its type does not become int", told[5])
            self.assertEqual(told[6], plain("boolean", "false"))
            self.assertIn("both 'value' and 'ref'", told[7])
            self.assertEqual(told[8]["elements"], ["777"])
            self.assertIsInstance(told[9], str)
            self.assertIsInstance(told[10], str)

    def test_the_policy_sees_the_same_argument(self):
        """An overload and its denial are those of the value itself."""
        with Peer("--rpc-allow", "java.lang.String,java.lang.StringBuilder", allow=False) as peer, \
                WebSocketClient(peer) as client:
            by_name = results(client, [make_text(2000), call(1, "java.util.Objects", "isNull", NAME),
                                       request(2, "new", {"type": "java.lang.StringBuilder", "args": [NAME]})])
            value = {"type": "java.lang.String", "value": "x" * 2000}
            by_value = results(client, [make_text(2000), call(1, "java.util.Objects", "isNull", value),
                                        request(2, "new", {"type": "java.lang.StringBuilder", "args": [value]})])
            for each in (by_name, by_value):
                each[2].pop("ref")
            self.assertEqual(by_name, by_value)

    @staticmethod
    def objects(client):
        return json.loads(client.control("stats")["value"])["objects"]

    def check_nothing_stays(self, client, batch, rounds=40):
        """40 texts of 8 MB are more than the heap. Neither does the session hold more than before."""
        before = self.objects(client)
        for _ in range(rounds):
            batch(client)
        self.assertEqual(self.objects(client), before)

    def test_nothing_stays(self):
        named = call(1, "java.util.Objects", "isNull", NAME)
        fails = call(2, "fixtures.Keyed", "integers", {"type": "java.util.Map", "value": {"x": NAME}})
        absent = call(3, "fixtures.NoSuch", "integers", NAME, NAME)
        batch = [make_text(8_000_000, options={"keep": False}), named, fails, absent, named | {"id": 4}]

        def ask(client):
            told = results(client, batch)
            self.assertEqual((told[1], told[4]), (plain("boolean", "false"),) * 2)
            self.assertIn('the key "x"', told[2])

        def leave(client):
            with WebSocketClient(client.peer) as other:
                other.send(json.dumps(batch))

        with Peer("-J", "-Xmx128m") as peer, WebSocketClient(peer) as client:
            client.peer = peer
            self.check_nothing_stays(client, ask)
            self.check_nothing_stays(client, leave)
            ask(client)

    def test_on_another_thread(self):
        with Peer("--thread-affinity", "SINGLE=fixtures.Affinity.SINGLE") as peer, WebSocketClient(peer) as client:
            there = {"options": {"threadAffinity": "SINGLE"}}
            told = results(client, [make_text(2000), call(1, "java.util.Objects", "isNull", NAME, **there),
                                    call(2, "java.util.Objects", "toString", NAME),
                                    call(3, "java.util.Objects", "toString", NAME, **there)])
            self.assertEqual(told[1], plain("boolean", "false"))
            self.assertEqual((told[2], told[3]), (plain("java.lang.String", "x" * 2000),) * 2)

    def test_copies_of_other_values_are_bounded(self):
        with Peer("--message-max", "64K") as peer, WebSocketClient(peer) as client:
            make = request("text", "java.util.Collections.nCopies", [900, "x" * 40])
            told = results(client, [make, *[call(i, "java.util.Objects", "isNull", NAME) for i in range(100)]])
            failed = [each for each in told.values() if isinstance(each, str)]
            self.assertTrue(0 < len(failed) < 100)
            self.assertIn("32 times message-max", failed[0])


if __name__ == "__main__":
    unittest.main()
