"""Elements of Java's iterables in pages: a loop over 10,000 elements needs a handful of round trips."""

import collections.abc
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ._native import Object
from .answers import count_of
from .exceptions import Denied, NotFound
from .objects import JavaObject, allowed_owner, call, callable_name

FIRST_PAGE = 16
PAGE_GROWTH = 8
PAGE_MAX = 8192


class MapEntry(tuple[Any, Any]):
    """A key and its value at the time when the page was fetched."""

    __slots__ = ()

    @property
    def key(self) -> Any:
        return self[0]

    @property
    def value(self) -> Any:
        return self[1]

    def getKey(self) -> Any:
        return self[0]

    def getValue(self) -> Any:
        return self[1]


def pages(source: Object, first: int = FIRST_PAGE, start: int = 0) -> Iterator[list[Any]]:
    """Yields all elements in lists of growing length. `start` is only for arrays."""
    return map(_with_entries, pages_with_tuples(source, first, start))


def pages_with_tuples(source: Object, first: int = FIRST_PAGE, start: int = 0) -> Iterator[list[Any]]:
    """Yields what `pages` yields, with plain tuples for the entries of a map."""
    connection = source._connection
    rest: Object | None = source
    from_end = source._java_type.startswith("[")
    if needs_iterator(source):
        rest = call(source, "iterator")
    while rest is not None:
        try:
            elements, done, following = connection.fetch(rest, first, start)
        except Denied as why:
            rest = _iterator_by_name(source, why) if rest is source else None
            if rest is None:
                raise
            continue
        if from_end:
            start += len(elements)
        yield elements
        if done:
            return
        rest = following
        first = min(first * PAGE_GROWTH, PAGE_MAX)


def needs_iterator(source: Object) -> bool:
    """Returns whether `fetch` is known to be denied and `iterator` to be allowed."""
    own = source._java_type
    return "/" not in own and callable_name(source, "iterator") != own and not own.startswith("[")


def _iterator_by_name(source: Object, why: Denied) -> Any:
    """Returns the iterator, if the policy allows a supertype that inherits the method. `fetch` does not
    consider supertypes that inherit the method. Otherwise returns None."""
    if source._java_type.startswith("[") or not str(why).startswith(f"RPC access denied: {source._java_type}."):
        return None
    if "java.util.Map" in getattr(type(source), "_supertypes", ()):
        return call(call(source, "entrySet"), "iterator") if allowed_owner(source, "entrySet") else None
    return call(source, "iterator") if allowed_owner(source, "iterator") else None


def _with_entries(elements: list[Any]) -> list[Any]:
    """Replaces the tuples of a page by MapEntry objects: a tuple in a page is always an entry of a map."""
    kinds = set(map(type, elements))
    if kinds == {tuple}:
        return list(map(MapEntry, elements))
    if tuple not in kinds:
        return elements
    return [MapEntry(each) if type(each) is tuple else each for each in elements]


def elements_of(source: Object, start: int = 0) -> Iterator[Any]:
    for page in pages(source, start=start):
        yield from page


class IterableMixin(JavaObject):
    """java.lang.Iterable."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return elements_of(self)


class Lookahead:
    """Elements that Java's iterators have returned and Python's loops have not used yet. They are kept as long as the
    iterator objects."""

    def __init__(self) -> None:
        self._queues: dict[int, tuple[weakref.ref[Object], deque[Any], Iterator[list[Any]]]] = {}

    def of(self, source: Object) -> tuple[deque[Any], Iterator[list[Any]]]:
        key = id(source)
        known = self._queues.get(key)
        if known is None or known[0]() is not source:
            forget = weakref.ref(source, lambda _: self._queues.pop(key, None))
            known = (forget, deque(), _pages_of_iterator(weakref.ref(source)))
            self._queues[key] = known
        return known[1], known[2]


def _pages_of_iterator(reference: "weakref.ref[Object]") -> Iterator[list[Any]]:
    """Yields the elements in pages. The first page is one element, so that a program that wants one element consumes
    only one element in Java."""
    size = 1
    other: Any = None  # the iterator of a stream
    while True:
        source = reference()
        if source is None:
            return
        if other is None and needs_iterator(source):
            other = call(source, "iterator")
        try:
            elements, done = source._connection.fetch(source if other is None else other, size)[:2]
        except Denied as why:
            other = _iterator_by_name(source, why) if other is None else None
            if other is None:
                raise
            continue
        finally:
            del source  # neither this variable nor fetch's third result may keep the object alive
        yield elements
        if done:
            return
        size = min(size * PAGE_GROWTH, PAGE_MAX)


_lookahead = Lookahead()


class IteratorMixin(JavaObject):
    """java.util.Iterator, Enumeration and the streams. A loop fetches pages, so Java's iterator is ahead of Python. A
    second loop over the same object continues without losing elements, but Java's own `next` skips the
    elements that Python has fetched."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        queue, source = _lookahead.of(self)
        while True:
            while queue:
                yield queue.popleft()
            page = next(source, None)
            if page is None:
                return
            queue.extend(page)

    def __next__(self) -> Any:
        queue, source = _lookahead.of(self)
        while not queue:
            queue.extend(next(source))
        return queue.popleft()


# ---- iterables that are not Java's own ----

SCALA_TO_JAVA = (  # converters of a scala.collection.Iterator: of Scala 2.13 and 3, then of older versions
    ("scala.jdk.javaapi.CollectionConverters", "asJava"),
    ("scala.collection.JavaConverters", "asJavaIterator"),
)


class ScalaIteratorMixin(JavaObject):
    """scala.collection.Iterator. A loop fetches pages, as with Java's iterators."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        for owner, method in SCALA_TO_JAVA:
            try:
                return iter(self._connection.call(owner, method, None, (self,)))
            # this version of Scala does not have the converter, or the policy denies it
            except (NotFound, Denied):
                continue
        return self._one_by_one()

    def _one_by_one(self) -> Iterator[Any]:
        while call(self, "hasNext"):
            yield call(self, "next")

    def __next__(self) -> Any:
        if call(self, "hasNext"):
            return call(self, "next")
        raise StopIteration


class HasIteratorMixin(JavaObject):
    """kotlin.sequences.Sequence and Scala's collections, whose `iterator` returns the iterator."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(call(self, "iterator"))


class ScalaIterableMixin(HasIteratorMixin):
    """scala.collection.Iterable. Elements of its maps are pairs."""

    __slots__ = ()

    def __len__(self) -> int:
        return count_of(call(self, "size"), "the size of a collection")


class ScalaPairMixin(JavaObject):
    """scala.Product2, the type of a Tuple2: `key, value = pair`."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter((call(self, "_1"), call(self, "_2")))


def to_list(source: Iterable[Any], progress: bool = False) -> list[Any]:
    """Returns list(source). With `progress`, and if tqdm is installed, shows a progress bar."""
    if not progress or not isinstance(source, Object):
        return list(source)
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return list(source)
    total = len(source) if isinstance(source, collections.abc.Sized) else None
    return list(tqdm(source, total=total, unit=" elements"))
