"""Sessions: who owns which objects, how long the objects exist, and that nothing leaks."""

import base64
import contextlib
import json
import os
import socket
import struct
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from support.binary_client import BinaryClient
from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, ZmqReqClient, ref
from support.peer import Peer, eventually
from support.peer_case import FAILED, BinaryCase, PeerCase
from support.raw_websocket import frame

LIST = "java.util.ArrayList"
SIZE = (LIST, "size")
# The whole heap is resident from the start, so that it does not count as growth.
HEAP_IN_USE = ("-J", "-Xms64m", "-J", "-Xmx64m", "-J", "-XX:+AlwaysPreTouch")


class SessionCase(PeerCase):
    def assert_unknown(self, client, number):
        error = self.assert_fails(FAILED, str(number), client.call, LIST, "size", on=number)
        self.assertEqual(error.throwable, "java.lang.NullPointerException")

    def assert_refused(self, flag, client):
        self.assert_fails(FAILED, flag, client.new, LIST)


class Sessions(SessionCase):
    options = ()

    def test_a_ref_means_nothing_in_another_session(self):
        for transport in (WebSocketClient, ZmqClient):
            with transport(self.peer) as one, transport(self.peer) as other:
                number = one.new(LIST)
                self.assert_unknown(other, number)
                self.assertEqual(one.call(LIST, "size", on=number), "0")

    def test_a_connection_ends_its_session(self):
        with WebSocketClient(self.peer) as client:
            client.new(LIST)
        client = self.connect()
        self.assert_unknown(client, 1)

    def test_a_peer_id_is_one_session_over_connections_and_transports(self):
        name = str(uuid.uuid4())
        with WebSocketClient(self.peer, {"peer-id": name}) as client:
            number = client.new(LIST)
            client.call(LIST, "add", "x", on=number)
        with WebSocketClient(self.peer, {"peer-id": name.upper()}) as client:
            self.assertEqual(client.call(LIST, "size", on=number), "1")
        client = self.connect(HttpClient, name)
        self.assertEqual(client.call(LIST, "size", on=number), "1")

    def test_http_names_a_session_only_where_objects_stay(self):
        client = self.connect(HttpClient)
        client.call("fixtures.Calculator", "add", 1, 2)
        self.assertIsNone(client.peer_id)
        number = client.new(LIST)
        self.assertEqual(str(uuid.UUID(client.peer_id)), client.peer_id)
        self.assertEqual(client.call(LIST, "size", on=number), "0")

    def test_a_connection_holds_its_named_session_before_its_first_request(self):
        peer = self.start("--session-ttl", "300ms")
        name = {"peer-id": str(uuid.uuid4())}
        idle = self.connect(WebSocketClient, name)
        with WebSocketClient(peer, name) as busy:
            number = busy.new(LIST)
        time.sleep(2)
        self.assertEqual(idle.call(LIST, "size", on=number), "0")

    def test_stats_count_objects_sessions_and_calls(self):
        client = self.serve()

        def stats():
            counts = json.loads(client.value("control", {"method": "stats"})["value"])
            return counts["objects"], counts["sessions_of_this_address"], counts["calls"]

        self.assertEqual(stats(), (0, 0, 0))
        client.call(LIST, "size", on=client.new(LIST))
        self.assertEqual(stats(), (1, 1, 2))
        client.control("delete_session")
        self.assertEqual(stats(), (0, 0, 2))

    def test_a_result_goes_with_a_session_that_is_deleted_during_the_call(self):
        name = {"peer-id": str(uuid.uuid4())}
        with WebSocketClient(self.peer, name) as one, WebSocketClient(self.peer, name) as other, ThreadPoolExecutor(1) as pool:
            before = other.call("fixtures.Blockers", "running")
            call = pool.submit(one.call, "fixtures.Blockers", "passWithObject")
            eventually(lambda: other.call("fixtures.Blockers", "running") != before, "the call begins")
            other.control("delete_session")
            other.call("fixtures.Blockers", "open")
            self.assertEqual(call.exception(60).detail, "the session was deleted during the call; its result was dropped")

    def test_zeromq_keeps_the_session_of_an_identity(self):
        with ZmqClient(self.peer, b"one identity") as client:
            number = client.new(LIST)
        client = self.connect(ZmqClient, b"one identity")
        self.assertEqual(client.call(LIST, "size", on=number), "0")

    def test_a_req_socket_has_a_session(self):
        client = self.connect(ZmqReqClient)
        number = client.new(LIST)
        self.assertIsNone(client.exchange_or_nothing('{"jsonrpc":"2.0","method":"control","params":{"method":"ping"}}'))
        self.assertEqual(client.call(LIST, "size", on=number), "0")

    def test_zeromq_takes_the_peer_id_of_a_message(self):
        name = str(uuid.uuid4())
        one, other = self.connect(ZmqClient), self.connect(ZmqClient)
        made = one.request("new", {"type": LIST}, **{"peer-id": name})
        number = made["result"]["value"]["ref"]
        seen = other.request("call", {"type": LIST, "method": "size", "instance": number}, **{"peer-id": name})
        self.assertEqual(seen["result"]["value"]["value"], "0")
        self.assert_unknown(other, number)


class Limits(SessionCase):
    def test_the_objects_of_a_session_are_limited(self):
        client = self.serve("--session-max-objects", "10")
        numbers = [client.new(LIST) for _ in range(10)]
        self.assert_fails(-32000, "session-max-objects", client.new, LIST)
        self.assertEqual(client.call(LIST, "size", on=numbers[0]), "0")
        client.control("delete_object", ref(numbers[0]))
        client.new(LIST)

    def test_what_needs_no_session_takes_none_and_never_fails(self):
        peer = self.start("--sessions-max", "1")
        with contextlib.ExitStack() as opened:
            clients = [opened.enter_context(client) for client in (
                WebSocketClient(peer), WebSocketClient(peer), WebSocketClient(peer, {"peer-id": str(uuid.uuid4())}),
                ZmqClient(peer), HttpClient(peer), HttpClient(peer, str(uuid.uuid4())))]
            holder = clients[0]
            for client in clients:
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
            number = holder.new(LIST)
            for client in clients:
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
                client.control("ping")
            for client in clients[1:]:
                self.assert_refused("sessions-max", client)

    def test_a_connection_gives_its_session_back_and_takes_another(self):
        one, other = self.serve("--sessions-max", "1"), self.connect()
        number = one.new(LIST)
        self.assert_refused("sessions-max", other)
        one.control("delete_session")
        self.assertEqual(other.new(LIST), 1)
        self.assert_refused("sessions-max", one)
        other.control("delete_object", ref(1))
        # Its refs continue after the old ref, and the old ref names nothing any more.
        self.assertEqual(one.new(LIST), number + 1)
        self.assert_unknown(one, number)

    def test_a_flood_of_requests_ends_its_own_sessions(self):
        peer = self.start("--sessions-max", "50")
        holder = self.connect()
        number = holder.new(LIST)
        with HttpClient(peer, str(uuid.uuid4())) as regular, HttpClient(peer) as flood:
            kept = regular.new(LIST)
            self.assertEqual(regular.call(LIST, "size", on=kept), "0")
            for _ in range(500):
                flood.peer_id = str(uuid.uuid4())
                last = flood.new(LIST)
            self.assertEqual(flood.call(LIST, "size", on=last), "0")
            self.assertEqual(regular.call(LIST, "size", on=kept), "0")
        self.assertEqual(holder.call(LIST, "size", on=number), "0")

    def test_a_flood_of_zeromq_messages_ends_its_own_sessions(self):
        def fresh():
            return {"peer-id": str(uuid.uuid4())}

        peer = self.start("--sessions-per-address", "5")
        with contextlib.ExitStack() as opened:
            ws, zmq, flood = (opened.enter_context(kind(peer)) for kind in (WebSocketClient, ZmqClient, ZmqClient))
            held = [(client, client.new(LIST)) for client in (ws, zmq)]
            named = fresh()
            kept = flood.request("new", {"type": LIST}, **named)["result"]["value"]["ref"]
            on_kept = {"type": LIST, "method": "size", "instance": kept}
            zmq.request("call", on_kept, **named)  # no longer a passing session from here on
            for _ in range(50):
                self.assertIn("result", flood.request("new", {"type": LIST}, **fresh()))
            for _ in range(10):  # a batch is one message, however often it names a session
                name = fresh()
                batch = [{"jsonrpc": "2.0", "id": i, "method": "new", "params": {"type": LIST}, **name} for i in (1, 2)]
                self.assertNotIn("error", flood.exchange(json.dumps(batch)))
            self.assertEqual(flood.request("call", on_kept, **named)["result"]["value"]["value"], "0")
            for client, number in held:
                self.assertEqual(client.call(LIST, "size", on=number), "0")
            with HttpClient(peer) as late:
                late.new(LIST)

    def test_the_sessions_of_one_address_are_limited(self):
        peer = self.start("--sessions-per-address", "3")
        zmq, ws = self.connect(ZmqClient), self.connect()
        zmq.new(LIST)
        ws.new(LIST)
        one, more, late = self.connect(HttpClient), self.connect(HttpClient), self.connect(ZmqClient)
        number = one.new(LIST)
        one.call(LIST, "size", on=number)  # no longer a passing session from here on
        for client in (more, WebSocketClient(peer), late):
            self.assert_refused("sessions-per-address", client)
        with HttpClient(peer) as elsewhere:
            elsewhere.connection.source_address = ("127.0.0.2", 0)
            elsewhere.new(LIST)
        one.control("delete_object", ref(number))
        more.new(LIST)

    def test_what_one_client_left_ends_for_others_of_its_address(self):
        self.start("--sessions-per-address", "100")
        flood, zmq = self.connect(HttpClient), self.connect(ZmqClient)
        for _ in range(300):
            flood.peer_id = str(uuid.uuid4())
            flood.new(LIST)
        ws, other = self.connect(), self.connect(HttpClient)
        for client in (ws, zmq, other):
            client.new(LIST)

    def test_the_end_of_the_last_object_is_the_end_of_a_session(self):
        peer = self.start("--sessions-max", "1")
        one = self.connect(HttpClient, str(uuid.uuid4()))
        seen = set()
        for _ in range(3):
            number = one.new(LIST)
            self.assertNotIn(number, seen)
            seen.add(number)
            self.assertEqual(one.call(LIST, "size", on=number), "0")  # no longer a passing session from here on
            with HttpClient(peer, str(uuid.uuid4())) as other:
                self.assert_refused("sessions-max", other)
            one.control("delete_object", ref(number))
            with HttpClient(peer, str(uuid.uuid4())) as other:
                other.control("delete_object", ref(other.new(LIST)))
            self.assert_unknown(one, number)

    def test_a_session_with_an_object_is_small(self):
        count = 20000
        with Peer("--sessions-per-address", "0", *HEAP_IN_USE) as peer, HttpClient(peer) as client:
            def make(number):
                for _ in range(number):
                    client.peer_id = str(uuid.uuid4())
                    client.new("java.lang.Object")

            make(1000)  # memory that only the first sessions allocate
            before = peer.resident_kib()
            make(count)
            each = (peer.resident_kib() - before) * 1024 / count
        self.assertLess(each, 4096)

    def test_an_answer_that_is_too_long_is_a_ref(self):
        """A result that is too long is sent as a ref, and no other object is held."""
        flags = ("--session-max-objects", "5", "--send-buffer-max", "4096", "--message-max", "4096",
                 "--array-value-max", "100000")
        peer = self.start(*flags)
        name = str(uuid.uuid4())
        for client in (WebSocketClient(peer), WebSocketClient(peer, {"peer-id": name}), HttpClient(peer, name),
                       ZmqClient(peer)):
            with client:
                for _ in range(20):
                    number = client.new("int[]", 5000)
                    client.control("delete_object", ref(number))
                made = [client.new("java.lang.Object") for _ in range(5)]
                client.control("delete_object", *[ref(number) for number in made])

    def test_notifications_leave_no_objects(self):
        quiet = {"jsonrpc": "2.0", "method": "new", "params": {"type": "java.lang.Object"}}
        peer = self.start("--session-max-objects", "5")
        client = self.connect()
        with HttpClient(peer) as http:
            response, _ = http.post(json.dumps(quiet))
            self.assertEqual(response.status, 204)
            self.assertIsNone(response.getheader("peer-id"))
        for _ in range(20):
            client.send(json.dumps(quiet))
            client.send(json.dumps([quiet, quiet]))
        for _ in range(5):
            client.new("java.lang.Object")

    def test_a_session_that_nobody_holds_ends(self):
        peer = self.start("--session-ttl", "300ms")
        name = str(uuid.uuid4())
        holder = WebSocketClient(peer, {"peer-id": name})
        number = holder.new(LIST)
        time.sleep(1)
        self.assertEqual(holder.call(LIST, "size", on=number), "0")
        holder.close()
        deadline = time.monotonic() + 30
        while True:
            time.sleep(0.6)
            with WebSocketClient(peer, {"peer-id": name}) as client:
                try:
                    client.call(LIST, "size", on=number)
                except RpcError:
                    break
            self.assertLess(time.monotonic(), deadline)


class ZmqNamed(ZmqClient):
    """A client with JSON over ZeroMQ that names its session in each message."""

    def __init__(self, peer, name):
        super().__init__(peer)
        self.session = name

    def request(self, method, params=None, **envelope):
        return super().request(method, params, **envelope, **{"peer-id": self.session})


def json_clients(peer, name):
    """Returns a function for each transport, which connects a client to the session with this UUID."""
    return (lambda: WebSocketClient(peer, {"peer-id": name}), lambda: HttpClient(peer, name),
            lambda: ZmqNamed(peer, name))


class OfBothForms(BinaryCase):
    """Sessions that a binary message names by the UUID of its sender, and a JSON client by the same UUID."""

    def assert_unknown(self, client, number):
        raised = self.raised_by(client.call, *SIZE, on=number)
        self.assertEqual(raised.type, "java.lang.NullPointerException")
        self.assertIn(f"objRef: {number}", raised.text)

    def test_what_a_json_client_left_is_there_for_a_binary_one(self):
        for number, make in enumerate(json_clients(self.peer, str(uuid.UUID(int=77))), 1):
            binary = self.connect(BinaryClient, "dealer", uuid.UUID(int=77).bytes)
            with make() as client:
                ref = client.new(LIST)
                self.assertEqual(ref, number)
                client.call(LIST, "add", "x", on=ref)
                self.assertEqual(binary.call(*SIZE, on=ref), 1)
                binary.call(LIST, "add", "y", on=ref)
                self.assertEqual(client.call(*SIZE, on=ref), "2")
            self.assertEqual(binary.call(*SIZE, on=ref), 2)

    def test_what_a_binary_client_left_is_there_for_json_ones(self):
        name = uuid.uuid4()
        binary = self.connect(BinaryClient, "req", name.bytes)
        ref = binary.new(LIST)
        for make in json_clients(self.peer, str(name)):
            with make() as client:
                client.call(LIST, "add", "x", on=ref)
                made = client.new(LIST)
                client.control("delete_object", {"ref": made})
                self.assert_unknown(binary, made)
        self.assertEqual(binary.call(*SIZE, on=ref), 3)

    def test_delete_session_ends_it_for_all(self):
        name = uuid.uuid4()
        binary = self.connect(BinaryClient, "dealer", name.bytes)
        for make in json_clients(self.peer, str(name)):
            with make() as client:
                ref = binary.new(LIST)
                client.control("delete_session")
                self.assert_unknown(binary, ref)
                ref = client.new(LIST)
                binary.control("delete_session")
                error = self.failure(client.call, *SIZE, on=ref)
                self.assertEqual(error.throwable, "java.lang.NullPointerException")

    def test_it_is_the_uuid_and_not_the_socket(self):
        name, other = uuid.uuid4().bytes, uuid.uuid4().bytes
        first = self.connect(BinaryClient, "dealer", name)
        ref = first.new(LIST)
        for shape in BinaryClient.SHAPES:
            self.assertEqual(self.connect(BinaryClient, shape, name).call(*SIZE, on=ref), 0)
            self.assert_unknown(self.connect(BinaryClient, shape, other), ref)
            self.assert_unknown(self.connect(BinaryClient, shape), ref)
        first.peer_uuid = other
        self.assert_unknown(first, ref)

    def test_no_uuid_is_the_session_of_the_socket(self):
        one, other = self.connect(), self.connect()
        ref = one.new(LIST)
        self.assertEqual(one.call(*SIZE, on=ref), 0)
        self.assert_unknown(other, ref)
        other.control("delete_session")
        self.assertEqual(one.call(*SIZE, on=ref), 0)

    def test_a_uuid_of_zeros_is_a_name(self):
        ref = self.connect(BinaryClient, "dealer", bytes(16)).new(LIST)
        self.assertEqual(self.connect(BinaryClient, "dealer", bytes(16)).call(*SIZE, on=ref), 0)
        self.assert_unknown(self.connect(), ref)


def counted_ref(number, count):
    return {"ref": number, "told": count}


class ReferenceCounts(SessionCase):
    """A library counts how often answers have sent it a ref, and releases it with that count."""

    options = ()

    def test_a_release_that_meets_the_same_ref_on_its_way(self):
        """The object of the last answer exists, although it was released while the answer was on its way."""
        get = {"jsonrpc": "2.0", "id": 1, "method": "get", "params": {"type": "java.lang.System", "field": "out"}}
        client = self.connect()
        number = client.get("java.lang.System", "out")
        release = {"jsonrpc": "2.0", "id": 2, "method": "control",
                   "params": {"method": "delete_object", "args": [counted_ref(number, 1)]}}
        client.send(json.dumps(get))
        client.send(json.dumps(release))
        self.assertEqual(json.loads(client.receive())["result"]["value"]["ref"], number)
        self.assertEqual(json.loads(client.receive())["result"], {"void": True})
        self.assertEqual(client.call("java.io.PrintStream", "checkError", on=number), "false")

    def test_a_list_of_one_object_a_million_times(self):
        million = 1000000
        client = self.connect()
        number = client.new("java.lang.Object")
        for copies, answer in ((million, [ref(number)] * million), (2 * million, None)):
            reply = client.request("java.util.Collections.nCopies", [copies, ref(number)],
                                   options={"array_value_max": 2 * million})["result"]
            if answer is None:  # too long: the list is a ref, and no ref of its content is sent
                self.assertEqual(reply["length"], copies)
            else:
                self.assertEqual(reply, answer)
        client.control("delete_object", counted_ref(number, million))
        self.assertEqual(client.call("java.util.Objects", "isNull", ref(number)), "false")
        client.control("delete_object", counted_ref(number, 1))
        self.failure(client.call, "java.util.Objects", "isNull", ref(number))

    def test_refs_in_binary_answers_count_as_well(self):
        name = uuid.uuid4()
        client, binary = self.connect(HttpClient, str(name)), self.connect(BinaryClient, "dealer", name.bytes)
        number = binary.new(LIST)
        self.assertEqual(client.call("fixtures.Arguments", "echoObject", ref(number)), number)
        client.control("delete_object", counted_ref(number, 1))
        self.assertEqual(client.call(LIST, "size", on=number), "0")
        client.control("delete_object", counted_ref(number, 1))
        self.assert_unknown(client, number)

    def use_and_release(self, client, rounds):
        """Holds the object while the library has its ref, sometimes sent more than once."""
        held = {}
        for i in range(rounds):
            number = client.get("java.lang.System", "err")
            held[number] = held.get(number, 0) + 1
            self.assertEqual(client.call("java.io.PrintStream", "checkError", on=number), "false")
            if i % 3 != 1:
                client.control("delete_object", *[counted_ref(*each) for each in held.items()])
                held.clear()
        client.control("delete_object", *[counted_ref(*each) for each in held.items()])

    def test_two_clients_of_a_session_release_the_same_object(self):
        name = str(uuid.uuid4())
        clients = [WebSocketClient(self.peer, {"peer-id": name}), WebSocketClient(self.peer, {"peer-id": name}),
                   HttpClient(self.peer, name), HttpClient(self.peer, name)]
        with ThreadPoolExecutor(len(clients)) as pool, contextlib.ExitStack() as opened:
            for client in clients:
                opened.enter_context(client)
            for done in [pool.submit(self.use_and_release, client, 1502) for client in clients]:
                done.result()
            number = clients[0].get("java.lang.System", "err")
            clients[1].control("delete_object", counted_ref(number, 1))
            self.assert_unknown(clients[2], number)


class Leaks(PeerCase):
    CLIENTS = 10000

    def vanish_with_an_object(self, address, handshake, made):
        """Connects, makes an object, and drops the connection without closing it."""
        with socket.create_connection(address) as connection:
            connection.sendall(handshake + made)
            received = b""
            while b'"ref":' not in received:
                more = connection.recv(4096)
                self.assertTrue(more, received)
                received += more
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def test_clients_that_vanish_leave_nothing(self):
        peer = self.start()
        watcher = self.connect()
        url = urlsplit(peer.address("ws"))
        handshake = (f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                     "Sec-WebSocket-Version: 13\r\n\r\n").encode()
        made = frame(b'{"jsonrpc":"2.0","id":1,"method":"new","params":{"type":"fixtures.LeakChecker"}}')
        for _ in range(self.CLIENTS):
            self.vanish_with_an_object((url.hostname, url.port), handshake, made)
        self.assertEqual(watcher.call("fixtures.LeakChecker", "made"), str(self.CLIENTS))
        eventually(lambda: watcher.control("gc") or watcher.call("fixtures.LeakChecker", "alive") == "0", "nothing is left")
