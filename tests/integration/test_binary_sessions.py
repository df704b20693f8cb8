"""Sessions of binary messages: named by the sender's UUID, and the same for all who name it."""

import uuid

from support.binary_client import BinaryClient
from support.clients import HttpClient, WebSocketClient, ZmqClient
from support.peer_case import BinaryCase

LIST = "java.util.ArrayList"
SIZE = (LIST, "size")


class ZmqNamed(ZmqClient):
    """JSON over ZeroMQ that names its session in each message."""

    def __init__(self, peer, name):
        super().__init__(peer)
        self.session = name

    def request(self, method, params=None, **envelope):
        return super().request(method, params, **envelope, **{"peer-id": self.session})


def json_clients(peer, name):
    """One a transport, all in the session of that UUID."""
    return (lambda: WebSocketClient(peer, {"peer-id": name}), lambda: HttpClient(peer, name),
            lambda: ZmqNamed(peer, name))


class Sessions(BinaryCase):
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
