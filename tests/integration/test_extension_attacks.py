"""Requests that ask for more than they look like: each costs its own caller an error or a ref, and nobody else anything."""

import json

from support.clients import HttpClient, WebSocketClient, ZmqClient, request
from support.clients import call_request as call
from support.peer import environment
from support.peer_case import PeerCase

MIB = 1 << 20


def small_heap():
    """Options and environment of a peer whose growth is its own: of the heap, and of what ASan keeps, there is little."""
    env = environment()
    env["ASAN_OPTIONS"] += ":quarantine_size_mb=4"
    return ("-J", "-Xmx64m"), env


def exchange_batch(client, requests):
    """The answers' text."""
    return client.exchange(json.dumps(requests))


class Elements(PeerCase):
    """Lists that hold each other: few objects, and 2^60 elements."""

    OPTIONS = {"array_value_max": (1 << 63) - 1}

    def test_elements_without_end_are_counted_no_further_than_an_answer_reaches(self):
        self.start("--message-max", "64K", "--send-buffer-max", "64K")
        for client in self.each(WebSocketClient, HttpClient, ZmqClient):
            told = client.request("fixtures.OddCollections.listsThatShare", [], options=self.OPTIONS)["result"]
            self.assertEqual((told["type"], told["length"]), ("java.util.Arrays$ArrayList", 2))
            pieces = client.request("jpeer.fetch", {"instance": told["ref"], "max": 2}, options=self.OPTIONS)
            self.assertEqual([one["length"] for one in pieces["result"]["elements"]], [2, 2])

    def test_with_compat_pal_it_is_an_error(self):
        client = self.serve("--compat", "pal", "--message-max", "64K", "--send-buffer-max", "64K")
        reply = client.request("fixtures.OddCollections.listsThatShare", [], options=self.OPTIONS)
        self.assertIn("more than the limit of 32768 elements", json.dumps(reply))


class Hostile(PeerCase):
    """Loaders and iterators of class fixtures.Attackers. The same connection, and with it the same thread, goes on."""

    ATTACKERS = "fixtures.Attackers"
    PEER_ID = "7d3c1a52-0f6e-4f4e-9a55-2f2f8a0f6d11"

    options = ()

    def setUp(self):
        super().setUp()
        self._client = self.connect(WebSocketClient, {"peer-id": self.PEER_ID})

    def fails(self, method, params, **envelope):
        error = self.client.request(method, params, **envelope)["error"]
        self.assertIsNone(self.client.call("fixtures.Blockers", "sleep", 1))  # nothing interrupts it
        return error["code"], error["data"].get("throwable_type"), error["data"]["message"]

    def look_up(self, loader):
        """What three ways to name a class of the loader come to."""
        by_loader = {"options": {"loader": loader}}
        wanted = {"type": "java.util.Objects", "method": "toString", "args": [{"type": "evil.Argument", "value": None}]}
        return {self.fails("call", {"type": "evil.Named", "method": "run"}, **by_loader)[:2],
                self.fails("new", {"type": "evil.Element[]", "args": [1]}, **by_loader)[:2],
                self.fails("call", wanted, **by_loader)[:2]}

    def test_loaders(self):
        missing = (-32601, "java.lang.ClassNotFoundException")
        kind = {"type": "java.lang.Class"}
        for method, args, told in (
                ("recursing", [], (-32000, "java.lang.StackOverflowError")),
                ("givingNull", [], missing),
                ("giving", [{**kind, "value": "java.lang.String"}], missing),
                ("giving", [{**kind, "value": "int"}], missing),
                ("giving", [{**kind, "value": "java.lang.String[]"}], missing),
                ("throwing", ["no"], (-32000, "fixtures.Attackers$OwnError")),
                ("notFinding", [10 * MIB], missing)):
            with self.subTest(method=method, args=args):
                self.assertEqual(self.look_up(self.client.call(self.ATTACKERS, method, *args)), {told})

    def test_iterators(self):
        for method, told in (("interrupting", "java.util.NoSuchElementException"),
                             ("overflowing", "java.lang.StackOverflowError")):
            with self.subTest(method=method):
                iterator = self.client.call(self.ATTACKERS, method)
                for _ in range(2):
                    self.assertEqual(self.fails("jpeer.fetch", {"instance": iterator, "max": 5})[:2], (-32000, told))

    def fetch_while_fetching(self, inner):
        """The elements of an iterator that asks the peer, in the same session, for those of object `inner`."""
        message = json.dumps(request(1, "jpeer.fetch", {"instance": inner, "max": 1}))
        iterator = self.client.call(self.ATTACKERS, "asking", self.peer.address("ws"), self.PEER_ID, message)
        told = self.client.request("jpeer.fetch", {"instance": iterator, "max": 1})["result"]
        self.assertFalse(told["done"])
        return iterator, json.loads(told["elements"][0])

    def test_an_iterator_that_uses_its_own_session(self):
        endless = self.client.call("fixtures.Iterables", "endless")
        self.assertEqual(self.fetch_while_fetching(endless)[1]["result"]["elements"], [0])
        following = endless + 2  # refs count up
        iterator, told = self.fetch_while_fetching(following)
        self.assertEqual((iterator, told["error"]["data"]["message"]),
                         (following, "another request is fetching from this object"))


class Batches(PeerCase):
    def growth(self, requests, count):
        """By how many MiB a peer grows while it answers the batch."""
        options, env = small_heap()
        peer = self.start(*options, env=env)
        client = self.connect()
        exchange_batch(client, requests(1))
        before = peer.resident_kib()
        answers = json.loads(exchange_batch(client, requests(count)))
        self.assertEqual([one for one in answers if "error" in one], [])
        return (peer.peak_kib() - before) // 1024

    def test_a_long_result_that_is_named_often_is_held_once(self):
        """Each request that names it is written out with it."""
        def requests(count):
            long = call("long", "fixtures.Arguments", "longText", 4 * MIB, options={"keep": False})
            return [long] + [call(i, "java.lang.String", "length", on={"result": "long"}) for i in range(count)]
        self.assertLess(self.growth(requests, 100), 120)

    def test_results_that_become_refs_leave_nothing_behind(self):
        def requests(count):
            ints = call("ints", "fixtures.Arguments", "manyInts", MIB)
            echo = {"type": "fixtures.Arguments", "method": "echoObject", "args": [{"ref": {"result": "ints"}}]}
            return [ints] + [request(i, "call", echo, options={"array_value_max": 4 * MIB}) for i in range(count)]
        self.assertLess(self.growth(requests, 40), 120)

    def test_an_error_is_not_repeated_beyond_the_limit_of_the_answer(self):
        client = self.serve("--send-buffer-max", "64K")
        failing = call("failing", "fixtures.Throwables", "plain", "m" * 8000)
        dependants = [call(i, "java.lang.String", "length", on={"result": "failing"}) for i in range(500)]
        answers = exchange_batch(client, [failing, *dependants])
        self.assertEqual(len(json.loads(answers)), 501)
        self.assertLess(len(answers), 64 * 1024 + 500 * 512)
        self.assertNotIn("error", client.request("control", {"method": "ping"}))
