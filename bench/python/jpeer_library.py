"""Calls Java through the package jpeer. The argument is the address of a peer."""

import os
import socket
import struct

import jpeer

COUNTED = 1000
BYTES_ACKED, BYTES_RECEIVED = 120, 128  # offsets in struct tcp_info, linux/tcp.h
TCP_INFO_SIZE = 136


def tcp_socket():
    """A duplicate of this process's only TCP socket; None if there is no TCP socket."""
    for name in os.listdir("/proc/self/fd"):
        try:
            copy = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        if copy.family == socket.AF_INET:
            return copy
        copy.close()
    return None


class Library:
    DOUBLES = None

    def __init__(self, address):
        self.java = jpeer.connect(address, pin=address.startswith("shm"))  # as jpeer.launch does
        self.util = self.java.java.util

    def add(self):
        return self.java.java.lang.Math.addExact

    def facts(self, add):
        """Makes a call, and returns how many bytes it sends and receives over TCP."""
        connection = tcp_socket()
        if connection is None:
            return {}
        with connection:
            def transferred():
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_SIZE)
                return [struct.unpack_from("=Q", info, offset)[0] for offset in (BYTES_ACKED, BYTES_RECEIVED)]

            before = transferred()
            for _ in range(COUNTED):
                add(1, 2)
            sent, received = (round((now - then) / COUNTED) for now, then in zip(transferred(), before))
        return {"sent": sent, "received": received}

    def copy_doubles(self, numbers):
        return memoryview(self.util.Arrays.copyOf(numbers, len(numbers)))

    def array_list(self, numbers):
        return self.util.ArrayList(numbers)

    copy_list = array_list

    def hash_map(self, entries):
        return self.util.HashMap(entries)

    def entries(self, there):
        return dict(there.items())

    def parser(self):
        return self.java.java.lang.Integer.parseInt

    def number_error(self):
        return self.java.java.lang.NumberFormatException

    def object_class(self):
        return self.java.java.lang.Object

    def sort(self, numbers, compare):
        numbers.sort(compare)

    def close(self):
        self.java.close()
