"""The links of a jpeer.aio connection. There are several, so that no call waits for the end of another call.

A link carries one call at a time. A call that finds no free link waits here until a call is answered or another link is
open. Calls whose arguments contain functions use links of their own, so that the package has to listen to few links for
calls from Java's own threads.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from ._native import Connection, NotSent
from .exceptions import StaleObject

LINKS_MAX = 256
OPENINGS_MAX = 4  # links that are being opened at the same time
# Threads that open links, and convert answers whose conversion sends requests (for a new class, for example).
THREADS_MAX = 8
GROWTH_SECONDS = 0.002  # a call waits this long for a free link before another is opened
REFUSAL_SECONDS = 1.0  # after a link could not be opened, the next attempt waits that long

Place = tuple[str, int]
"""Identifies a callback from Java, in the form of Connection.calling."""


class Link:
    def __init__(self, number: int, descriptor: int, is_shared: bool) -> None:
        self.number, self.descriptor = number, descriptor
        self.is_shared = is_shared  # False: the link belongs to one thread whose functions Java has, or to one task
        self.has_thread = False  # a Java thread of its own, for a task
        self.calls = 0  # calls without an answer
        self.is_abandoned = False  # a call that nobody waits for any more is still inside Java
        self.gives_callbacks = False


class Call(NamedTuple):
    step: tuple[Any, ...]
    timeout: float | None
    future: "asyncio.Future[Any]"
    is_second: bool = False  # the call is sent the second time, after its link was asked for the identity of its peer
    is_nested: bool = False  # the call is a part of a call from Java, and ends with it
    was_unsent: bool = False  # the call waits again, because its connection ended before it was sent


class Links:
    """Used only on the loop's thread."""

    def __init__(self, connection: Connection, reconnects: bool) -> None:
        self._connection = connection
        self._reconnects = reconnects
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._links: dict[int, Link] = {}
        self._free: tuple[list[Link], list[Link]] = [], []  # for calls without functions, and for calls with functions
        self._waiting: deque[Call] = deque()
        self._opening = 0
        self._refused_until = 0.0
        self._growth: asyncio.TimerHandle | None = None
        self._threads = ThreadPoolExecutor(THREADS_MAX, "jpeer-aio")
        self._end: BaseException | None = None
        connection.reserve_link()
        self._add_free(self._add(0))

    def call(
        self, step: tuple[Any, ...], timeout: float | None, place: Place | None, own: Link | None = None
    ) -> "asyncio.Future[Any]":
        """Sends a step of Connection.batch; the future is its result. `place`: the callback that the call is a part of.
        `own`: the link that the task got from open_thread_link."""
        call = Call(step, timeout, self._loop.create_future(), is_nested=place is not None)
        if self._end is not None:
            call.future.set_exception(ConnectionError(str(self._end)))
        elif place is not None:
            self._send(call, place[1], place[1], place[0])
        elif own is not None and own.has_thread:
            self._send(call, own.number, own.number, None)
        else:
            self._waiting.append(call)
            self._serve()
        return call.future

    def close(self) -> None:
        self._finish_all(ConnectionError("the connection is closed"))
        for link in list(self._links.values()):
            self._remove(link)
        self._threads.shutdown(wait=False)

    # ---- threads of tasks ----

    async def open_thread_link(self, name: str | None) -> Link:
        """Opens a link with a Java thread of its own. The link is used only for calls that name it."""
        if self._reconnects:
            raise ValueError("a connection that reconnects has no threads for tasks: they would end with the connection")
        if self._end is not None:
            raise ConnectionError(str(self._end))
        number = await self._loop.run_in_executor(self._threads, self._connection.open_link)
        if number is None:
            raise RuntimeError("this task gets no Java thread of its own: the connection can open no more links now")
        link = self._add(number, is_shared=False)
        try:
            await self._loop.run_in_executor(self._threads, self._connection.pin_link, number, name)
        except BaseException:
            self._share(link)
            raise
        link.has_thread = True
        return link

    def release_thread_link(self, link: Link) -> None:
        link.has_thread = False
        with contextlib.suppress(ConnectionError):
            self._connection.unpin_link(link.number)
        self._share(link)

    def _share(self, link: Link) -> None:
        """Makes the link available to all calls."""
        link.is_shared = True
        if link.number in self._links:
            self._add_free(link)
            self._serve()

    # ---- calls ----

    def _serve(self) -> None:
        """Sends the waiting calls, as long as there are links."""
        while self._waiting:
            if self._waiting[0].future.done():  # the task was cancelled
                self._waiting.popleft()
                continue
            link = self._choose()
            if link is None:
                self._plan_growth()
                return
            for_callbacks = self._free[True][-1] if self._free[True] else link
            self._send(self._waiting.popleft(), link.number, for_callbacks.number, None)

    def _choose(self) -> Link | None:
        for is_last_resort in (False, True):
            if self._free[is_last_resort]:
                return self._free[is_last_resort][-1]
            if self._may_grow():
                return None
        return min(self._links.values(), key=lambda link: link.calls) if self._links else None

    def _send(self, call: Call, number: int, for_callbacks: int, within: str | None) -> None:
        links: list[Link] = []  # gets the link over which the call was sent

        def done(value: Any, error: BaseException | None) -> None:
            if threading.get_ident() == self._thread and not self._loop.is_closed():
                self._finish(call, links, value, error)
                return
            try:
                self._loop.call_soon_threadsafe(self._finish, call, links, value, error)
            except RuntimeError:
                if not self._loop.is_closed():  # nobody waits in a closed loop
                    raise

        try:
            used, gives_callbacks, serial = self._connection.send(
                call.step, call.timeout, done, within, number, for_callbacks, self._threads.submit
            )
            link = self._links.get(used) or self._add(used, is_shared=False)
        except Exception as error:
            if isinstance(error, StaleObject) and not call.is_second:
                self._send_later(call._replace(is_second=True), number, for_callbacks, within, error)
            else:
                _settle(call.future, None, error)
            return
        call.future.add_done_callback(partial(self._cancel, serial))
        self._remove_free(link)
        link.gives_callbacks = gives_callbacks
        link.calls += 1
        links.append(link)
        self._loop.call_soon(self._process, link)  # handles an answer that the send itself has received

    def _cancel(self, serial: int, future: "asyncio.Future[Any]") -> None:
        """Cancels the call in Java if the waiting task was cancelled."""
        if future.cancelled():
            with contextlib.suppress(ConnectionError):
                self._connection.cancel(serial)

    def _send_later(self, call: Call, number: int, for_callbacks: int, within: str | None, error: StaleObject) -> None:
        """Sends the call again, after the link has learned the identity of its peer. The object of the call may belong
        to a newer peer."""

        def send(learnt: "asyncio.Future[None]") -> None:
            if learnt.exception() is not None or self._end is not None or number not in self._links:
                _settle(call.future, None, error)
            else:
                self._send(call, number, for_callbacks, within)

        learnt = self._loop.run_in_executor(self._threads, self._connection.learn_epoch, number)
        learnt.add_done_callback(send)

    def _finish(self, call: Call, links: list[Link], value: Any, error: BaseException | None) -> None:
        if isinstance(error, NotSent) and not (call.is_nested or call.was_unsent or self._end) and links:
            self._waiting.append(call._replace(was_unsent=True))
        else:
            _settle(call.future, value, error)
        for link in links:
            link.calls -= 1
            if link.number in self._links:
                link.is_abandoned |= error is not None
                self._add_free(link)
        self._serve()

    def _process(self, link: Link) -> None:
        if link.number not in self._links:
            return
        try:
            self._connection.process(link.number)
        except ConnectionError as error:  # the connection reports the error to each call that waits
            self._remove(link)
            if link.number == 0 and not self._reconnects:
                self._finish_all(error)
            return
        if link.is_abandoned:
            self._add_free(link)
            self._serve()

    def _finish_all(self, error: BaseException) -> None:
        """Fails the calls that were not sent, and all later calls."""
        self._end = error
        if self._growth is not None:
            self._growth.cancel()
        self._fail_waiting(error)

    # ---- links ----

    def _add(self, number: int, is_shared: bool = True) -> Link:
        link = Link(number, self._connection.descriptor(number), is_shared)
        self._links[number] = link
        self._loop.add_reader(link.descriptor, self._process, link)
        return link

    def _remove(self, link: Link) -> None:
        """Removes a closed link from all lists, because the system may use its file descriptor again."""
        self._remove_free(link)
        if self._links.pop(link.number, None) is not None:
            self._loop.remove_reader(link.descriptor)

    def _remove_free(self, link: Link) -> None:
        for free in self._free:
            if link in free:
                free.remove(link)

    def _add_free(self, link: Link) -> None:
        """Adds the link to the free links, unless a call on it is still inside Java."""
        if link.is_abandoned:
            with contextlib.suppress(ConnectionError):
                link.is_abandoned = self._connection.unanswered(link.number) > 0
        free = self._free[link.gives_callbacks]
        if link.is_shared and link.calls == 0 and not link.is_abandoned and link not in free:
            free.append(link)

    def _may_grow(self) -> bool:
        return len(self._links) < LINKS_MAX and self._loop.time() >= self._refused_until

    def _plan_growth(self) -> None:
        if self._growth is None and self._end is None:
            self._growth = self._loop.call_later(GROWTH_SECONDS, self._grow)

    def _grow(self) -> None:
        self._growth = None
        room = LINKS_MAX - len(self._links) - self._opening
        for _ in range(min(len(self._waiting), OPENINGS_MAX - self._opening, room)):
            self._opening += 1
            opened = self._loop.run_in_executor(self._threads, self._connection.open_link)
            opened.add_done_callback(self._receive_opened)

    def _receive_opened(self, opened: "asyncio.Future[int | None]") -> None:
        self._opening -= 1
        failure = opened.exception() or (opened.result() is None and ConnectionError("the connection has ended"))
        if self._end is not None:
            return
        if not failure:
            self._add_free(self._add(opened.result()))  # type: ignore[arg-type]
        elif self._links:
            self._refused_until = self._loop.time() + REFUSAL_SECONDS
        elif self._opening == 0:
            self._fail_waiting(failure)
        self._serve()

    def _fail_waiting(self, failure: BaseException) -> None:
        while self._waiting:
            unsent = failure if isinstance(failure, NotSent) else ConnectionError(str(failure))
            _settle(self._waiting.popleft().future, None, unsent)


def _settle(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(RuntimeError(repr(error)) if isinstance(error, StopIteration) else error)
    else:
        future.set_result(value)
