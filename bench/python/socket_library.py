"""Stands in for a library: a blocking socket that sends as many bytes as a request of jpeer has, and receives
as many bytes as the answer has. If this file is run as a program (arguments SENT RECEIVED), it is the other
end, which prints its port and serves one connection.
"""

import socket
import sys


def receive(connection, count):
    while count > 0:
        piece = connection.recv(count)
        if not piece:
            return False
        count -= len(piece)
    return True


class Library:
    def __init__(self, port, sent, received):
        self.connection = socket.create_connection(("127.0.0.1", int(port)))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request, self.received = bytes(int(sent)), int(received)

    def add(self):
        connection, request, received = self.connection, self.request, self.received

        def call(left, right):
            connection.sendall(request)
            return left + right if receive(connection, received) else None

        return call

    def facts(self, add):
        return {}

    def close(self):
        self.connection.close()


def main():
    received, sent = map(int, sys.argv[1:])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        connection, _ = listening.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = bytes(sent)
        while receive(connection, received):
            connection.sendall(answer)


if __name__ == "__main__":
    main()
