"""A TLS proxy in front of a peer.

    servers = certificates.Servers(folder)
    with TlsProxy(target, servers.context()) as proxy:
        java = jpeer.connect(proxy.url("wss"), ca_file=servers.certificate)

A target is the path of a Unix socket, a port of the loopback address, or a function that is called with the reader and the
writer of each connection.
"""

import asyncio
import contextlib
import threading


class TlsProxy:
    """Runs on a thread of its own. context None: without TLS."""

    def __init__(self, target, context, host="127.0.0.1", piece=65536, cut_after=None):
        """piece: the most bytes in one record to the client. cut_after: after so many bytes to the client, the connection
        is cut without the end of TLS."""
        self._target, self._piece, self._cut_after = target, piece, cut_after
        self.received = bytearray()  # from all clients, decrypted
        self._writers = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, host, 0, ssl=context, family=0))
        self.host, self.port = self._server.sockets[0].getsockname()[:2]

    def url(self, scheme, host=None, path="/rpc"):
        return f"{scheme}://{host or self.host}:{self.port}{path}"

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    async def _serve(self, reader, writer):
        self._writers.add(writer)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await (self._target if callable(self._target) else self._forward)(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _forward(self, reader, writer):
        opened = asyncio.open_connection("127.0.0.1", self._target) if isinstance(self._target, int) else \
            asyncio.open_unix_connection(self._target)
        peer_reader, peer_writer = await opened
        tasks = [asyncio.ensure_future(self._to_peer(reader, peer_writer)),
                 asyncio.ensure_future(self._to_client(peer_reader, writer))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            peer_writer.close()

    async def _to_peer(self, reader, writer):
        while data := await reader.read(1 << 20):
            if len(self.received) < 1 << 20:
                self.received += data
            writer.write(data)
            await writer.drain()

    async def _to_client(self, reader, writer):
        count = 0
        while data := await reader.read(1 << 20):
            left = len(data) if self._cut_after is None else self._cut_after - count
            for start in range(0, min(len(data), left), self._piece):
                writer.write(data[start : min(start + self._piece, left)])
                await writer.drain()
            count += len(data)
            if self._cut_after is not None and count >= self._cut_after:
                await asyncio.sleep(0.05)  # so that the client receives what was sent
                writer.transport.abort()
                return

    def cut_all(self):
        """Ends all connections without the end of TLS."""
        async def cut():
            for each in list(self._writers):
                each.transport.abort()
        self._run(cut())

    def close(self):
        async def close():
            self._server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for each in tasks:
                each.cancel()
            for each in list(self._writers):
                each.transport.abort()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0.01)  # the ends of the connections
        self._run(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
