"""A TCP proxy that delays all data, but does not limit the data rate."""

import queue
import socket
import threading
import time


class DelayedLink:
    """Listens at `port` and connects to an address, with `seconds` of delay each way. The proxy ends with the `with`
    block."""

    def __init__(self, host, port, seconds):
        self.target = (host, port)
        self.seconds = seconds
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self._start(self._accept)

    @staticmethod
    def _start(run, *arguments):
        threading.Thread(target=run, args=arguments, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            self.sockets += [near, far]
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink in ((near, far), (far, near)):
                on_the_way = queue.SimpleQueue()
                self._start(self._receive, source, on_the_way)
                self._start(self._deliver, sink, on_the_way)

    def _receive(self, source, on_the_way):
        data = b"?"
        while data:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            on_the_way.put((time.monotonic() + self.seconds, data))

    @staticmethod
    def _deliver(sink, on_the_way):
        while True:
            due, data = on_the_way.get()
            time.sleep(max(0, due - time.monotonic()))
            try:
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (self.listener, *self.sockets):
            each.close()
