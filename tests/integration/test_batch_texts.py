"""Requests of a batch may name a long result many times: the result is not copied for each name."""

import json

from support.clients import WebSocketClient, request
from support.clients import call_request as call
from support.peer import environment
from support.peer_case import PeerCase

LENGTH = 1_000_000
NAME = {"ref": {"result": "text"}}
KEPT_KIB = 96 * 1024  # how much the peer may grow in a batch that would need 10 GB if results were copied


def make_text(length=LENGTH, unit="x", **members):
    return request("text", "call", {"type": "java.lang.String", "method": "repeat", "args": [length],
                                    "instance": {"type": "java.lang.String", "value": unit}}, **members)


def results(client, batch):
    """Sends the batch. Returns for each id the message of an error, the value object, or, for members called by their
    own names, the value."""
    found = {}
    for answer in json.loads(client.exchange(json.dumps(batch))):
        result = answer.get("result")
        is_envelope = isinstance(result, dict) and "void" in result
        found[answer["id"]] = (answer["error"]["data"]["message"] if "error" in answer
                              else result.get("value") if is_envelope else result)
    return found


def plain(kind, value):
    return {"type": kind, "null": False, "value": value}


class LongTexts(PeerCase):
    def unkept(self, **members):
        return make_text(options={"keep": False}, **members)

    def test_many_names_cost_no_copies(self):
        peer = self.start()
        client = self.connect()
        results(client, [self.unkept(), call(0, "java.util.Objects", "isNull", NAME)])
        before = peer.peak_kib()
        lists = [call(i, "java.util.Objects", "isNull", {"type": "java.util.List", "value": [NAME] * 10})
                 for i in range(990)]
        found = results(client, [self.unkept(), *lists])
        self.assertEqual({json.dumps(found[i]) for i in range(990)}, {json.dumps(plain("boolean", "false"))})
        self.assertLess(peer.peak_kib() - before, KEPT_KIB)

    def test_the_policy_sees_the_same_argument(self):
        """The policy denies the same overload as for the value itself."""
        client = self.serve("--rpc-allow", "java.lang.String,java.lang.StringBuilder", allow=False)
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
        """Repeats a batch. 40 texts of 8 MB are more than the heap, so no text may be kept. The session must
        not have more refs than before."""
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
            found = results(client, batch)
            self.assertEqual((found[1], found[4]), (plain("boolean", "false"),) * 2)
            self.assertIn('the key "x"', found[2])

        def leave(client):
            with WebSocketClient(client.peer) as other:
                other.send(json.dumps(batch))

        peer = self.start("-J", "-Xmx128m")
        client = self.connect()
        client.peer = peer
        self.check_nothing_stays(client, ask)
        self.check_nothing_stays(client, leave)
        ask(client)

    def test_a_request_on_another_thread_gets_the_text(self):
        client = self.serve("--thread-affinity", "SINGLE=fixtures.Affinity.SINGLE")
        there = {"options": {"threadAffinity": "SINGLE"}}
        found = results(client, [make_text(2000), call(1, "java.util.Objects", "isNull", NAME, **there),
                                call(2, "java.util.Objects", "toString", NAME),
                                call(3, "java.util.Objects", "toString", NAME, **there)])
        self.assertEqual(found[1], plain("boolean", "false"))
        self.assertEqual((found[2], found[3]), (plain("java.lang.String", "x" * 2000),) * 2)

    def test_copies_of_other_values_are_bounded(self):
        client = self.serve("--message-max", "64K")
        make = request("text", "java.util.Collections.nCopies", [900, "x" * 40])
        found = results(client, [make, *[call(i, "java.util.Objects", "isNull", NAME) for i in range(100)]])
        failed = [each for each in found.values() if isinstance(each, str)]
        self.assertTrue(0 < len(failed) < 100)
        self.assertIn("32 times message-max", failed[0])


class Batches(PeerCase):
    def growth(self, requests, count):
        """Returns by how many MiB a peer grows while it answers the batch."""
        env = environment()
        env["ASAN_OPTIONS"] += ":quarantine_size_mb=4"  # or freed memory counts as growth
        peer = self.start("-J", "-Xmx64m", env=env)
        client = self.connect()
        results(client, requests(1))
        before = peer.resident_kib()
        answers = json.loads(client.exchange(json.dumps(requests(count))))
        self.assertEqual([one for one in answers if "error" in one], [])
        return (peer.peak_kib() - before) // 1024

    def test_a_long_result_that_is_named_often_is_held_once(self):
        """Each request that names the result is written out with the result."""
        def requests(count):
            long = call("long", "fixtures.Arguments", "longText", 4 << 20, options={"keep": False})
            return [long] + [call(i, "java.lang.String", "length", on={"result": "long"}) for i in range(count)]
        self.assertLess(self.growth(requests, 100), 120)

    def test_results_that_become_refs_leave_nothing(self):
        def requests(count):
            ints = call("ints", "fixtures.Arguments", "manyInts", 1 << 20)
            echo = {"type": "fixtures.Arguments", "method": "echoObject", "args": [{"ref": {"result": "ints"}}]}
            return [ints] + [request(i, "call", echo, options={"array_value_max": 4 << 20}) for i in range(count)]
        self.assertLess(self.growth(requests, 40), 120)

    def test_an_error_is_not_repeated_beyond_the_limit_of_the_answer(self):
        client = self.serve("--send-buffer-max", "64K")
        failing = call("failing", "fixtures.Throwables", "plain", "m" * 8000)
        dependants = [call(i, "java.lang.String", "length", on={"result": "failing"}) for i in range(500)]
        answers = client.exchange(json.dumps([failing, *dependants]))
        self.assertEqual(len(json.loads(answers)), 501)
        self.assertLess(len(answers), 64 * 1024 + 500 * 512)
        self.assertNotIn("error", client.request("control", {"method": "ping"}))
