"""How long a stop waits for clients that are only connected."""

import signal
import socket
import struct
import time

from support.peer_case import PeerCase
from support.raw_websocket import CLOSE, PING, RawWebSocket, frame
from support.shm import Channel

# A stop used to wait 2 s for each idle client. A busy machine may need as long, but not each time.
MUCH_LESS_THAN_2_S = 1.5
ATTEMPTS = 8
GOODBYE = struct.pack(">H", 1000)


class Late(AssertionError):
    """Raised if the stop took too long."""


def once_in_time(test):
    def run(self):
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return test(self)
            except Late:
                if attempt == ATTEMPTS:
                    raise
    return run


class Stops(PeerCase):
    def check(self, *clients, after_signal=None):
        """Stops self.peer, and checks that the stop does not wait for these clients."""
        self.peer.send_signal(signal.SIGTERM)
        began = time.monotonic()
        if after_signal is not None:
            after_signal()
        self.assertEqual(self.peer.wait(), 0)
        took = time.monotonic() - began
        for client in clients:
            client.close()
        if took > MUCH_LESS_THAN_2_S:
            raise Late(f"the stop took {took:.1f} s")

    @once_in_time
    def test_clients_that_are_idle_and_never_read(self):
        for count, kind in ((50, RawWebSocket), (5, lambda peer: Channel(peer.socket_path("ws+unix")))):
            peer = self.start(sockets=True)
            self.check(*[kind(peer) for _ in range(count)])

    @once_in_time
    def test_a_client_that_answers_the_close_frame_and_keeps_its_socket_open(self):
        client = RawWebSocket(self.start(sockets=True))

        def answer():
            client.await_close()
            client.send(GOODBYE, CLOSE)
        self.check(client, after_signal=answer)

    @once_in_time
    def test_clients_in_the_middle_of_a_message(self):
        peer = self.start(sockets=True)
        clients = [RawWebSocket(peer) for _ in range(10)]
        for client in clients:
            client.socket.sendall(frame(b'{"jsonrpc"', length=1000))
        self.check(*clients)

    @once_in_time
    def test_a_message_that_ends_after_the_close_frame_does_not_delay_the_stop(self):
        client = RawWebSocket(self.start(sockets=True))
        client.socket.sendall(frame(b"x" * 10, length=1000))

        def answer():
            client.await_close()
            client.socket.sendall(b"x" * 990 + frame(b"ping", PING))
            client.send(GOODBYE, CLOSE)
        self.check(client, after_signal=answer)

    @once_in_time
    def test_http_clients_that_keep_their_connection(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.start(sockets=True).socket_path("http+unix"))
        body = b'{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"ping"}}'
        client.sendall(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.assertIn(b"200 OK", client.recv(4096))
        self.check(client)
