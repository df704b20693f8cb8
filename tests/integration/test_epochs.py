"""Sessions over restarts: epochs, and refs that begin at random (docs/protocol.md, "Sessions over restarts")."""

import json
import uuid

from support.clients import HttpClient, WebSocketClient, ZmqClient, call_request, request
from support.peer import Peer
from support.peer_case import PeerCase

LIST = "java.util.ArrayList"
MAKE_LIST = request(1, "new", {"type": LIST})


class Http(HttpClient):
    """A client whose requests may have further headers. It keeps the headers of the last answer."""

    def __init__(self, peer):
        super().__init__(peer)
        peer.clients.append(self)
        self.headers = {}

    def post(self, message, *headers):
        """Sends a request. Returns the answer, or the status if there is no answer."""
        self.peer_id = None
        response, text = super().post(json.dumps(message), dict(headers))
        self.headers = response.headers
        return json.loads(text) if response.status == 200 else response.status


def ref_of(answer):
    return answer["result"]["value"]["ref"]


def size_of(ref, **more):
    return call_request(1, LIST, "size", on=ref, **more)


def add_to(ref, **more):
    return call_request(1, LIST, "add", 1, on=ref, **more)


def value_of(answer):
    return answer["result"]["value"]["value"]


def ask(client, message):
    return json.loads(client.exchange(json.dumps(message)))


def is_stale(answer):
    return answer["error"]["code"] == -32000 and answer["error"]["data"].get("reason") == "stale"


class EpochsOverHttp(PeerCase):
    def test_a_ref_of_a_former_life_is_refused(self):
        name = ("peer-id", str(uuid.uuid4()))
        with Peer() as old:
            old_client = Http(old)
            ref = ref_of(old_client.post(MAKE_LIST, name))
            epoch = ("jpeer-epoch", old_client.headers["jpeer-epoch"])
            self.assertEqual(value_of(old_client.post(size_of(ref), name, epoch)), "0")
        new = self.start()
        client = Http(new)
        self.assertEqual(ref_of(client.post(MAKE_LIST, name)), ref)  # --first-ref 1: the same number
        self.assertNotEqual(client.headers["jpeer-epoch"], epoch[1])
        self.assertTrue(is_stale(client.post(add_to(ref), name, epoch)))
        self.assertEqual(value_of(client.post(size_of(ref), name)), "0")

    def test_another_epoch_runs_nothing(self):
        name = ("peer-id", str(uuid.uuid4()))
        peer = self.start()
        client = Http(peer)
        ref = ref_of(client.post(MAKE_LIST, name))
        epoch = client.headers["jpeer-epoch"]
        for wrong in ("", "0", epoch[:-1], epoch + "0", epoch.upper() + "x", "f" * 5000, "0" * 16):
            with self.subTest(epoch=wrong[:20]):
                self.assertTrue(is_stale(client.post(add_to(ref), name, ("jpeer-epoch", wrong))))
                answers = client.post([add_to(ref), {**add_to(ref), "id": 2}], name, ("jpeer-epoch", wrong))
                self.assertEqual([is_stale(answer) for answer in answers], [True, True])
                notification = {key: value for key, value in add_to(ref).items() if key != "id"}
                self.assertEqual(client.post(notification, name, ("jpeer-epoch", wrong)), 204)
        self.assertEqual(value_of(client.post(size_of(ref), name, ("jpeer-epoch", epoch))), "0")
        self.assertEqual(client.post(size_of(ref), name, ("jpeer-epoch", epoch), ("Jpeer-Epoch", epoch)), 400)

    def test_an_epoch_is_that_of_one_name(self):
        peer = self.start()
        client = Http(peer)
        one, two = (("peer-id", str(uuid.uuid4())) for _ in range(2))
        client.post(MAKE_LIST, one)
        first = client.headers["jpeer-epoch"]
        ref = ref_of(client.post(MAKE_LIST, two))
        self.assertNotEqual(client.headers["jpeer-epoch"], first)
        self.assertTrue(is_stale(client.post(add_to(ref), two, ("jpeer-epoch", first))))
        ref = ref_of(client.post(MAKE_LIST))
        kept, epoch = client.headers["peer-id"], client.headers["jpeer-epoch"]
        self.assertEqual(value_of(client.post(size_of(ref), ("peer-id", kept), ("jpeer-epoch", epoch))), "0")
        client.post(call_request(1, "java.lang.Math", "abs", 1))
        self.assertNotIn("jpeer-epoch", client.headers)

    def test_a_session_that_begins_again_keeps_its_epoch_and_its_refs_continue(self):
        name = ("peer-id", str(uuid.uuid4()))
        peer = self.start(first_ref=None)
        client = Http(peer)
        ref = ref_of(client.post(MAKE_LIST, name))
        epoch = client.headers["jpeer-epoch"]
        client.post(request(1, "control", {"method": "delete_session"}), name)
        self.assertEqual(client.headers["jpeer-epoch"], epoch)
        self.assertEqual(ref_of(client.post(MAKE_LIST, name)), ref + 1)
        self.assertEqual(client.headers["jpeer-epoch"], epoch)


class EpochsOverOtherTransports(PeerCase):
    def test_the_fast_path_asks_too(self):
        """One thread serves the same bytes from two clients, whose epochs differ."""
        peer = self.start("--rpc-threads", "1", "--rpc-threads-max", "1")
        for kind in (WebSocketClient, ZmqClient):
            with self.subTest(kind.__name__), kind(peer) as one, kind(peer) as two:
                ref = ref_of(ask(one, MAKE_LIST))
                self.assertEqual(ref_of(ask(two, MAKE_LIST)), ref)
                session = json.loads(value_of(ask(one, request(1, "control", {"method": "session"}))))
                for _ in range(5):
                    answer = ask(one, add_to(ref, epoch=session["epoch"]))
                    self.assertIn("result", answer)
                for _ in range(5):
                    self.assertTrue(is_stale(ask(two, add_to(ref, epoch=session["epoch"]))))
                self.assertEqual(value_of(ask(two, size_of(ref))), "0")
                self.assertEqual(value_of(ask(one, size_of(ref))), "5")

    def test_two_connections_of_one_name_have_one_epoch(self):
        name = str(uuid.uuid4())
        self.start()
        one = self.connect(WebSocketClient, {"peer-id": name})
        two = self.connect(WebSocketClient, {"peer-id": name})
        asked = request(1, "control", {"method": "session"})
        first, second = (json.loads(value_of(ask(client, asked))) for client in (one, two))
        self.assertEqual(first["epoch"], second["epoch"])
        self.assertNotEqual(first["client"], second["client"])

    def test_refs_begin_at_random(self):
        with Peer(first_ref=None) as peer:
            begun = set()
            for _ in range(8):
                with WebSocketClient(peer) as client:
                    begun.add(ref_of(ask(client, MAKE_LIST)))
            self.assertEqual(len(begun), 8)
            self.assertTrue(all(0 < ref < 1 << 30 for ref in begun))
        client = self.serve("--compat", "pal", first_ref=None)
        self.assertEqual(ref_of(ask(client, MAKE_LIST)), 1)

    def test_values_max(self):
        client = self.serve("--values-max", "65536")
        for count, fits in ((65536, True), (65537, False), (65536, True)):
            argument = {"type": "java.util.ArrayList", "value": [7] * count}
            answer = ask(client, request(1, "new", {"type": LIST, "args": [argument]}))
            self.assertEqual("result" in answer, fits)
            if not fits:
                self.assertEqual(answer["error"]["code"], -32602)
                self.assertIn("values-max", answer["error"]["data"]["message"])
