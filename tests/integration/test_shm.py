"""Shared memory of the real peer: who gets it, what a client can do to the pages, rings of all sizes, and short runs
of the long tests in tests/release."""

import contextlib
import fcntl
import mmap
import os
import socket

from release import shm_hostile
from support import shm
from support.clients import ShmClient, UnixHttpClient, UnixWebSocketClient
from support.peer_case import PeerCase

CONTROL = 4096
RING = 65536
ADD = b'{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"com.example.Calculator","method":"add","args":[1,7]}}'
F_ADD_SEALS, F_GET_SEALS = 1033, 1034
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE, F_SEAL_FUTURE_WRITE = 1, 2, 4, 8, 16
REQUEST = ("GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: jpeer-shm/1\r\n\r\n").encode()


def add(client):
    return client.call("com.example.Calculator", "add", 1, 7)


def echo(client, text):
    return client.call("fixtures.Arguments", "echoString", text)


def path_of(peer):
    return peer.socket_path("ws+unix")


def status_of(connection):
    """Reads the next answer, and returns its status."""
    return int(connection.recv(65536).split()[1])


class Asking(PeerCase):
    """Tests which clients get shared memory."""

    def test_another_connection_gets_none_above_the_total(self):
        size = CONTROL + 2 * RING
        peer = self.start("--shm-ring", str(RING), "--shm-total", str(2 * size + size // 2), sockets=True)
        with ShmClient(peer) as first, ShmClient(peer) as second:
            with self.assertRaises(shm.Refused) as caught:
                ShmClient(peer)
            self.assertEqual(503, caught.exception.status)
            self.assertEqual(["8", "8"], [add(first), add(second)])
            with UnixWebSocketClient(peer) as other:
                self.assertEqual("8", add(other))
        self.serve_again(peer)

    def serve_again(self, peer):
        """Shared memory of closed connections is available again, when the peer has seen their end."""
        for _ in range(10000):
            with contextlib.suppress(shm.Refused), ShmClient(peer) as client:
                self.assertEqual("8", add(client))
                return
        self.fail("the memory of connections that ended was not given back")

    def test_nobody_gets_any_where_it_is_switched_off(self):
        peer = self.start("--shm-ring", "0", sockets=True)
        with self.assertRaises(shm.Refused) as caught:
            ShmClient(peer)
        self.assertEqual(503, caught.exception.status)
        other = self.connect(UnixHttpClient)
        self.assertEqual("8", add(other))

    def test_shared_memory_is_refused_over_tcp(self):
        peer = self.start()
        host, port = peer.address("ws").split("/")[2].rsplit(":", 1)
        with socket.create_connection((host, int(port)), shm.SECONDS) as connection:
            connection.sendall(REQUEST)
            self.assertEqual(400, status_of(connection))


class Pages(PeerCase):
    """Tests the memory that a client gets, and the changes of it that are refused."""

    options = ("--shm-ring", str(RING))
    peer_arguments = {"sockets": True}

    def test_bytes_after_the_head_are_refused(self):
        with self.assertRaises(shm.Refused) as caught:
            shm.Channel(path_of(self.peer), after_head=b"!")
        self.assertEqual(400, caught.exception.status)

    def test_the_memory_cannot_change_its_size_or_be_sealed(self):
        with shm.Channel(path_of(self.peer), keeps_memfd=True) as channel:
            self.assertEqual(CONTROL + 2 * RING, channel.region_size)
            self.assertEqual(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW, fcntl.fcntl(channel.memfd, F_GET_SEALS) & 15)
            for size in (0, 4096, 2 * channel.region_size):
                with self.assertRaises(PermissionError):
                    os.ftruncate(channel.memfd, size)
            for seal in (F_SEAL_WRITE, F_SEAL_FUTURE_WRITE):
                with self.assertRaises(PermissionError):
                    fcntl.fcntl(channel.memfd, F_ADD_SEALS, seal)
            channel.send(ADD)
            self.assertIn(b'"8"', channel.receive())

    def test_a_client_that_removes_its_pages_hurts_nobody_else(self):
        with shm.Channel(path_of(self.peer), keeps_memfd=True) as channel:
            channel.send(ADD)
            channel.receive()
            with mmap.mmap(channel.memfd, 0) as pages:
                pages.madvise(mmap.MADV_REMOVE)
            channel.socket.send(b"!")
            with contextlib.suppress(shm.Ended, shm.TimedOut, shm.Broken):
                channel.milliseconds = 200
                channel.send(ADD)
                channel.receive()
        other = self.connect(ShmClient)
        self.assertEqual("8", add(other))

    def test_a_client_that_sends_no_frame_gets_the_reason(self):
        for kind, length in ((3, 8), (4, 8), (0, 8), (77, 8), (shm.KIND_SKIP, 2 * RING), (shm.KIND_JSON, 0xFFFFFFFF)):
            with self.subTest(kind=kind, length=length), shm.Channel(path_of(self.peer)) as channel:
                at = channel.place(channel.written())
                channel.put(kind, b"12345678")
                channel.store32(at, length)
                channel.publish()
                with self.assertRaises(shm.Ended) as caught:
                    channel.receive()
                self.assertNotEqual("the socket is closed", str(caught.exception))

    def test_an_unread_answer_is_sent_before_the_end(self):
        with shm.Channel(path_of(self.peer)) as channel:
            channel.send(ADD)
            channel.put(77, b"")
            channel.publish()
            self.assertIn(b'"8"', channel.receive())
            with self.assertRaises(shm.Ended):
                channel.receive()

    def test_what_was_sent_before_the_end_is_served(self):
        client = self.connect(ShmClient)
        number = client.new("com.example.Calculator")
        client.channel.put(shm.KIND_JSON, ADD)
        client.channel.publish()
        client.channel.socket.shutdown(socket.SHUT_WR)
        self.assertIn('"8"', client.receive())
        self.assertGreater(number, 0)


class Sizes(PeerCase):
    """Messages of many lengths through rings of the smallest and of the largest size."""

    def check(self, ring, total, lengths):
        peer = self.start("--shm-ring", ring, "--shm-total", total, sockets=True)
        with ShmClient(peer) as client:
            for length in lengths:
                text = "x" * length
                self.assertEqual(text, echo(client, text))
            for i in range(200):
                self.assertEqual(str(i + 7), client.call("com.example.Calculator", "add", i, 7))
        return peer.resident_kib()

    def test_messages_pass_rings_of_one_page(self):
        self.check("4K", "1M", (0, 1, 3900, 4000, 4088, 4096, 5000, 100000, 3000000))

    def test_messages_pass_rings_of_a_gibibyte(self):
        with self.subTest("its pages are made when they are needed"):
            self.assertLess(self.check("1G", "4G", (0, 1, 4096, 3000000)), 1 << 20)


class Attacks(PeerCase):
    def test_hostile_clients_harm_only_themselves(self):
        counts = shm_hostile.run(seconds=2, seed="short")
        self.assertEqual([], counts.faults)
        self.assertEqual(0, counts.torn)
        self.assertGreater(counts.ended, 0)
        self.assertGreater(counts.honest, 0)
