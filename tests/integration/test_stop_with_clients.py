"""How long a stop waits for clients that are only connected."""

import base64
import os
import signal
import socket
import struct
import time
import unittest

from support.peer import Peer
from support.shm import Channel
from support.peer_case import PeerCase

CLOSE_HEAD = b"\x88"
# A stop used to wait 2 s for each client that was idle. The rest is room for a busy machine.
MUCH_LESS_THAN_2_S = 1.5


class RawWebSocket:
    """Sends and reads frames when a test says so, and never by itself."""

    def __init__(self, peer):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(peer.socket_path("ws+unix"))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        assert head.startswith(b"HTTP/1.1 101"), head

    def send(self, opcode, payload, length=None):
        """One masked frame that says that it has `length` bytes."""
        count = len(payload) if length is None else length
        self.socket.sendall(bytes([0x80 | opcode, 0x80 | 126]) + struct.pack(">H", count) + bytes(4) + payload)

    def send_close(self):
        self.socket.sendall(b"\x88\x82" + bytes(4) + struct.pack(">H", 1000))

    def await_close(self):
        """Reads up to the peer's close frame, the first byte of whose head appears nowhere before."""
        seen = b""
        while CLOSE_HEAD not in seen:
            more = self.socket.recv(4096)
            assert more, "the connection ended without a close frame"
            seen += more

    def close(self):
        self.socket.close()


class Stops(PeerCase):
    def check(self, connect, after_signal=None, less_than=MUCH_LESS_THAN_2_S):
        """Starts a peer, lets connect(peer) give the clients, and stops it."""
        with Peer(sockets=True) as peer:
            clients = connect(peer)
            try:
                peer.send_signal(signal.SIGTERM)
                began = time.monotonic()
                if after_signal is not None:
                    for client in clients:
                        after_signal(client)
                self.assertEqual(peer.wait(), 0)
                self.assertLess(time.monotonic() - began, less_than)
            finally:
                for client in clients:
                    client.close()

    def test_clients_that_are_idle_and_never_read(self):
        self.check(lambda peer: [RawWebSocket(peer) for _ in range(50)])

    def test_clients_of_shared_memory_that_are_idle_and_never_read(self):
        self.check(lambda peer: [Channel(peer.socket_path("ws+unix")) for _ in range(5)])

    def test_a_client_that_answers_the_close_frame_and_keeps_its_socket_open(self):
        def answer(client):
            client.await_close()
            client.send_close()

        self.check(lambda peer: [RawWebSocket(peer)], answer)

    def test_clients_in_the_middle_of_a_message(self):
        def connect(peer):
            clients = [RawWebSocket(peer) for _ in range(10)]
            for client in clients:
                client.send(1, b'{"jsonrpc"', length=1000)
            return clients

        self.check(connect)

    def test_a_message_that_ends_after_the_close_frame_does_not_delay_the_stop(self):
        def connect(peer):
            client = RawWebSocket(peer)
            client.send(1, b"x" * 10, length=1000)
            return [client]

        def answer(client):
            client.await_close()
            client.socket.sendall(b"x" * 990)
            client.socket.sendall(b"\x89\x84" + bytes(4) + b"ping")
            client.send_close()

        self.check(connect, answer)

    def test_http_clients_that_keep_their_connection(self):
        def connect(peer):
            client = socket.socket(socket.AF_UNIX)
            client.connect(peer.socket_path("http+unix"))
            body = b'{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"ping"}}'
            client.sendall(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                           + str(len(body)).encode() + b"\r\n\r\n" + body)
            self.assertIn(b"200 OK", client.recv(4096))
            return [client]

        self.check(connect)


if __name__ == "__main__":
    unittest.main()
