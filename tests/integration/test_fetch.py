"""jpeer.fetch between several clients, within the limits of an answer, and over Java code that blocks."""

import base64
import itertools
import json
import threading
import time
import uuid

from support.clients import SECONDS, TRANSPORTS, HttpClient, RpcError, WebSocketClient, ref, typed
from support.peer import eventually
from support.peer_case import PeerCase

FIXTURES = "fixtures.Iterables"
SMALL = 4096  # bytes of an answer, in tests of small answers
BUSY = "another request is fetching from this object"


def fetch(client, number, **params):
    """Sends jpeer.fetch. Returns the result. Raises RpcError."""
    reply = client.request("jpeer.fetch", {"instance": ref(number), **params})
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"]


def fetch_in_turn(client, number, **params):
    """Sends jpeer.fetch until no other request is fetching."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return fetch(client, number, **params)
        except RpcError as error:
            if error.detail != BUSY or time.monotonic() > deadline:
                raise


def fetch_all(client, number, **params):
    """Fetches until the end. Returns the elements of each answer."""
    answer = {"ref": number, "done": False}
    while not answer["done"]:
        answer = fetch(client, answer["ref"], **params)
        yield answer["elements"]


def units(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def pieces_of_string(client, number, size):
    """Fetches a String. Returns the part in each answer."""
    answer, taken = {"done": False}, 0
    while not answer["done"]:
        answer = fetch(client, number, max=size, **{"from": taken})
        piece, = answer["elements"]
        yield piece
        taken += units(piece)


class SmallAnswers(PeerCase):
    """Elements that do not fit in an answer are in the next answer."""

    options = ("--message-max", str(SMALL), "--send-buffer-max", str(SMALL))

    def test_a_string_comes_in_pieces(self):
        pattern = "a\U0001f600\ud800b\udc00"
        for client in self.each(*TRANSPORTS):
            reply = client.value("call", {"type": "java.lang.String", "method": "repeat", "args": [1000],
                                          "instance": typed("java.lang.String", pattern)})
            self.assertEqual(reply, {"type": "java.lang.String", "null": False, "ref": reply["ref"]})
            for size in (2, 7, 333, 65537):
                pieces = list(pieces_of_string(client, reply["ref"], size))
                self.assertEqual("".join(pieces), pattern * 1000)
                self.assertLessEqual(max(map(units, pieces)), size)

    def test_elements_wait_for_the_next_answer(self):
        for client in self.each(*TRANSPORTS):
            strings = client.call(FIXTURES, "longStrings", 20, 1000)
            answers = list(fetch_all(client, strings))
            self.assertGreater(len(answers), 5)
            strings = [text for answer in answers for text in answer]
            self.assertEqual(strings, [chr(ord("a") + number) * 1000 for number in range(20)])

    def test_refs_fill_an_answer_and_no_more(self):
        for client in self.each(*TRANSPORTS):
            answers = list(fetch_all(client, client.call(FIXTURES, "cycles", 300)))
            self.assertGreater(len(answers), 4)
            elements = [element for answer in answers for element in answer]
            self.assertEqual(len({element["ref"] for element in elements}), 300)
            self.assertEqual({element["type"] for element in elements}, {"java.util.ArrayList"})

    def test_fetches_of_a_batch_share_its_answer(self):
        for client in self.each(*TRANSPORTS):
            strings = client.call(FIXTURES, "longStrings", 20, 700)
            iterator = client.value("call", {"type": "java.util.List", "method": "iterator", "instance": strings})["ref"]
            texts = []
            while len(texts) < 20:
                replies = json.loads(client.exchange(json.dumps([
                    {"jsonrpc": "2.0", "id": number, "method": "jpeer.fetch",
                     "params": {"instance": iterator, "max": 2}} for number in range(5)])))
                elements = [text for reply in replies for text in reply["result"]["elements"]]
                self.assertTrue(elements)
                texts += elements
            self.assertEqual(texts, [chr(ord("a") + number) * 700 for number in range(20)])


    def columns(self, client, instance, in_batch=1):
        """Sends jpeer.columns until the end. Returns the result of each answer with rows."""
        pages, is_done = [], False
        while not is_done:
            text = client.exchange(json.dumps([
                {"jsonrpc": "2.0", "id": number, "method": "jpeer.columns", "params": {"instance": instance}}
                for number in range(in_batch)]))
            self.assertLessEqual(len(text), SMALL)
            found = [reply["result"] for reply in json.loads(text)]
            self.assertTrue(any(each["rows"] or each["done"] for each in found))
            pages += [each for each in found if each["rows"]]
            instance = found[0].get("ref", instance)
            is_done = found[-1]["done"]
        return pages

    def test_pages_of_columns_fill_an_answer_and_no_more(self):
        for client in self.each(*TRANSPORTS):
            pages = self.columns(client, client.call("fixtures.Tables", "people", 300))
            self.assertEqual(sum(page["rows"] for page in pages), 300)
            self.assertLess(len(pages), 20)
            refs = [each["ref"] for page in pages for each in page["columns"][2]["data"] if each is not None]
            self.assertEqual(len(set(refs)), 150)

    def test_a_row_too_long_for_an_answer_has_refs(self):
        lengths = [10, 5000, 2000, 2900, 3000, 10, 10]
        for client in self.each(*TRANSPORTS):
            pages = self.columns(client, client.call("fixtures.Tables", "longStrings", typed("int[]", lengths)))
            self.assertEqual([(page["rows"], page["columns"][1]["type"]) for page in pages],
                             [(1, "string"), (1, "object"), (1, "string"), (1, "object"), (1, "object"), (2, "string")])
            self.assertEqual(pages[1]["columns"][1]["data"][0]["length"], 5000)

    def test_columns_of_a_batch_share_its_answer(self):
        for client in self.each(*TRANSPORTS):
            iterator = client.value("call", {"type": "java.util.List", "method": "iterator",
                                             "instance": client.call("fixtures.Tables", "people", 100)})["ref"]
            self.assertEqual(sum(page["rows"] for page in self.columns(client, iterator, 3)), 100)


class Sharing(PeerCase):
    """Several clients of one session."""

    options = ()

    def setUp(self):
        self.name = str(uuid.uuid4())

    def client(self):
        return self.enterContext(WebSocketClient(self.peer, {"peer-id": self.name}))

    def test_two_take_from_one_iterator(self):
        one, other = self.client(), self.enterContext(HttpClient(self.peer, self.name))
        iterator = one.call("java.util.List", "iterator", on=one.call(FIXTURES, "strings", 20000))
        taken = {one: [], other: []}

        def take(client, sizes):
            for size in itertools.cycle(sizes):
                answer = fetch_in_turn(client, int(iterator), max=size)
                taken[client] += [int(text[1:]) for text in answer["elements"]]
                if answer["done"]:
                    return

        threads = [threading.Thread(target=take, args=args) for args in ((one, (7, 1, 50)), (other, (11, 3)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        for numbers in taken.values():
            self.assertGreater(len(numbers), 100)
            self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(sorted(taken[one] + taken[other]), list(range(20000)))

    def block(self, kind):
        """Starts a fetch that blocks. Returns its client, the object that it fetches from, and the latch that lets it
        continue."""
        client = self.client()
        latch = client.new("java.util.concurrent.CountDownLatch", typed("int", 1))
        blocked = client.call(FIXTURES, kind, ref(latch))
        client.send('{"jsonrpc":"2.0","id":"blocked","method":"jpeer.fetch","params":{"instance":%s}}' % blocked)
        watch = self.client()
        eventually(lambda: watch.call(FIXTURES, "waiting") == "1", "the fetch is blocked")
        return client, int(blocked), latch

    def test_another_fetch_is_refused_at_once_and_takes_nothing(self):
        blocked, iterator, latch = self.block("blocking")
        other, third = self.client(), self.enterContext(HttpClient(self.peer, self.name))
        for client in (other, third):
            for _ in range(100):
                error = self.failure(fetch, client, iterator)
                self.assertEqual((error.code, error.detail), (-32000, BUSY))
        self.assertEqual(list(fetch_all(third, int(third.call(FIXTURES, "strings", 2)))), [["s0", "s1"]])
        other.call("java.util.concurrent.CountDownLatch", "countDown", on=latch)
        answer = json.loads(blocked.receive())
        self.assertEqual(answer, {"jsonrpc": "2.0", "id": "blocked", "result": {"elements": ["first"], "done": True}})
        self.assertEqual(fetch(other, iterator), {"elements": [], "done": True})

    def test_the_iterator_is_deleted_while_it_is_blocked(self):
        blocked, iterator, latch = self.block("blocking")
        other = self.client()
        other.control("delete_object", ref(iterator))
        other.call("java.util.concurrent.CountDownLatch", "countDown", on=latch)
        self.assertEqual(json.loads(blocked.receive())["result"], {"elements": ["first"], "done": True})
        error = self.failure(fetch, other, iterator)
        self.assertEqual(error.detail, f"No object found with objRef: {iterator}")

    def test_a_client_goes_while_its_fetch_is_blocked(self):
        blocked, iterator, latch = self.block("blocking")
        other = self.client()
        blocked.socket.transport.abort()
        other.call("java.util.concurrent.CountDownLatch", "countDown", on=latch)
        self.assertEqual(fetch_in_turn(other, iterator), {"elements": [], "done": True})

    def test_an_iterator_calls_the_peer_and_even_fetches_from_itself(self):
        client = self.client()
        requests = client.new("java.util.ArrayDeque")
        iterator = int(client.call(FIXTURES, "callingBack", self.peer.address("http"), self.name, ref(requests)))
        for request in (
                {"method": "call", "params": {"type": "fixtures.Calculator", "method": "add", "args": [1, 2]}},
                {"method": "jpeer.fetch", "params": {"instance": ref(iterator)}},
                {"method": "jpeer.fetch", "params": {"instance": ref(client.new("int[]", 1))}},
                {"method": "control", "params": {"method": "delete_object", "args": [ref(iterator)]}}):
            client.call("java.util.ArrayDeque", "add", json.dumps({"jsonrpc": "2.0", "id": 1, **request}), on=requests)
        answer = fetch(client, iterator)
        added, fetched, other, deleted = map(json.loads, answer["elements"])
        self.assertEqual(added["result"]["value"]["value"], "3")
        self.assertEqual(fetched["error"]["data"]["message"], BUSY)
        self.assertEqual(other["result"]["elements"], [0])
        self.assertEqual((deleted["result"], answer["done"]), ({"void": True}, True))

    def test_a_blocked_stream_of_bytes_delays_nobody(self):
        blocked, _, latch = self.block("blockingStream")
        other = self.client()
        self.assertEqual(list(fetch_all(other, int(other.call(FIXTURES, "strings", 1)))), [["s0"]])
        other.call("java.util.concurrent.CountDownLatch", "countDown", on=latch)
        self.assertEqual(json.loads(blocked.receive())["result"], {"elements": [], "done": True})


class Limits(PeerCase):
    def test_iterators_that_are_done_leave_no_object(self):
        self.start("--session-max-objects", "2")
        for client in self.each(*TRANSPORTS):
            strings = int(client.call(FIXTURES, "strings", 5))
            for _ in range(20):
                self.assertEqual(sum(fetch_all(client, strings, max=2), []), ["s0", "s1", "s2", "s3", "s4"])
            client.new("java.lang.Object")
            self.assert_fails(-32000, "", fetch, client, strings)

    def test_no_answer_has_more_than_65536_elements(self):
        client = self.serve()
        answers = list(fetch_all(client, int(client.call(FIXTURES, "strings", 70000)), max=2147483647))
        self.assertEqual([len(answer) for answer in answers], [65536, 4464])
        self.assertEqual(sum(answers, []), [f"s{number}" for number in range(70000)])
        array = client.new("byte[]", 1048577)
        first = fetch(client, array, max=2147483647, encoding="base64")
        self.assertEqual((len(base64.b64decode(first["elements"])), first["done"]), (1048576, False))
        last = fetch(client, array, max=2147483647, encoding="base64", **{"from": 1048576})
        self.assertEqual(last, {"elements": "AA==", "done": True})
