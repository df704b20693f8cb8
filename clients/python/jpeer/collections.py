"""Java's collections and maps with Python's protocols.

If Java and Python have a method of the same name, the name is Java's method (`xs.remove(0)`, `m.values()`). `List.sort`
and `Map.get` also accept Python's arguments.
"""

import collections.abc
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ._native import Object, ProtocolError, Typed
from .answers import count_of
from .exceptions import BadArgument, Denied, JavaException
from .objects import JavaObject, call, callable_name
from .pages import IterableMixin, elements_of, pages_with_tuples

ORDERED_MAPS = {"java.util.SortedMap", "java.util.LinkedHashMap", "java.util.SequencedMap"}
BATCH_STEPS = 500
LOOKUP_ERRORS = ("java.lang.ClassCastException", "java.lang.NullPointerException")


class CollectionMixin(IterableMixin):
    """java.util.Collection."""

    __slots__ = ()

    def __len__(self) -> int:
        return count_of(call(self, "size"), "the size of a collection")

    def __contains__(self, value: Any) -> bool:
        return any(_finds(self, "contains", each) for each in lookup_forms(value))

    def count(self, value: Any) -> int:
        return sum(1 for each in self if each is value or each == value)


class DescendingMixin(JavaObject):
    """java.util.Deque and NavigableSet."""

    __slots__ = ()

    def __reversed__(self) -> Iterator[Any]:
        try:
            return iter(call(self, "descendingIterator"))
        except Denied:
            if not hasattr(super(), "__reversed__"):  # a LinkedList is a List, too
                raise
            return super().__reversed__()  # type: ignore[misc,no-any-return]


class SetMixin(CollectionMixin):
    """java.util.Set with Python's set operators, whose results are Python sets."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        if isinstance(other, collections.abc.Set) and not isinstance(other, Object):
            return len(self) == len(other) and set(self) == other
        return super().__eq__(other)

    __hash__ = JavaObject.__hash__

    def discard(self, value: Any) -> None:
        for each in lookup_forms(value):
            if _finds(self, "remove", each):
                return

    def update(self, *others: Iterable[Any]) -> None:
        for other in others:
            call(self, "addAll", as_argument(other))

    def __and__(self, other: Any) -> set[Any]:
        return set(self) & _as_set(other)

    def __or__(self, other: Any) -> set[Any]:
        return set(self) | _as_set(other)

    def __sub__(self, other: Any) -> set[Any]:
        return set(self) - _as_set(other)

    def __xor__(self, other: Any) -> set[Any]:
        return set(self) ^ _as_set(other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __rsub__(self, other: Any) -> set[Any]:
        return _as_set(other) - set(self)

    # The in-place operators change the Java set.

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc,unused-ignore]
        call(self, "addAll", other if isinstance(other, Object) else _as_set(other))
        return self

    def __iand__(self, other: Any) -> Any:
        return self._discard_all(set(self) - _as_set(other))

    def __isub__(self, other: Any) -> Any:
        return self._discard_all(set(self) & _as_set(other))

    def __ixor__(self, other: Any) -> Any:
        others = _as_set(other)
        common = set(self) & others
        self.update(others - common)
        return self._discard_all(common)

    def _discard_all(self, values: set[Any]) -> Any:
        for each in values:
            self.discard(each)
        return self

    def __le__(self, other: Any) -> bool:
        return set(self) <= _as_set(other)

    def __lt__(self, other: Any) -> bool:
        return set(self) < _as_set(other)

    def __ge__(self, other: Any) -> bool:
        return set(self) >= _as_set(other)

    def __gt__(self, other: Any) -> bool:
        return set(self) > _as_set(other)

    def isdisjoint(self, other: Any) -> bool:
        return set(self).isdisjoint(other)


# ---- Map ----


class MapMixin(JavaObject):
    """java.util.Map. `list(m.items())` reads pages. `dict(m)` sends a request for each value, `dict(m.items())` does
    not."""

    __slots__ = ()

    def __len__(self) -> int:
        return count_of(call(self, "size"), "the size of a map")

    def __iter__(self) -> Iterator[Any]:
        return elements_of(call(self, "keySet"))

    def __contains__(self, key: Any) -> bool:
        return any(_finds(self, "containsKey", each) for each in lookup_forms(key))

    def __getitem__(self, key: Any) -> Any:
        for each in lookup_forms(key):
            try:
                value = call(self, "get", each)
                if value is not None or call(self, "containsKey", each):
                    return value
            except JavaException as error:
                if error.java_class not in LOOKUP_ERRORS:
                    raise
        raise KeyError(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        call(self, "put", key, value)

    def __delitem__(self, key: Any) -> None:
        for each in lookup_forms(key):
            if _finds(self, "containsKey", each):
                call(self, "remove", each)
                return
        raise KeyError(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns the value of the key, or the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def __reversed__(self) -> Iterator[Any]:
        self._check_order()
        return iter(list(self)[::-1])

    def _check_order(self) -> None:
        supertypes: frozenset[str] = getattr(type(self), "_supertypes", frozenset())
        if not supertypes & ORDERED_MAPS:
            raise TypeError(f"{self._java_type} is not reversible: its keys have no order")

    def keys(self) -> Any:
        return call(self, "keySet")

    def items(self) -> "ItemsView":
        return ItemsView(self)

    def pop(self, key: Any, *default: Any) -> Any:
        try:
            value = self[key]
        except KeyError:
            if default:
                return default[0]
            raise
        del self[key]
        return value

    def popitem(self) -> tuple[Any, Any]:
        for key in self:
            return key, self.pop(key)
        raise KeyError("popitem of an empty map")

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), **more: Any) -> None:
        if isinstance(other, Object):
            call(self, "putAll", other)
            other = ()
        pairs = {**dict(other), **more}
        if not pairs:
            return
        try:
            call(self, "putAll", pairs)
        except Denied:  # the policy denies LinkedHashMap, which Java makes of a dict whose keys are not str
            if all(type(key) is str for key in pairs):
                raise
            self._put_each(pairs)

    def _put_each(self, pairs: dict[Any, Any]) -> None:
        java_type = callable_name(self, "put")
        steps = [
            ("call", java_type, "put", self, pair) for pair in zip(widened(pairs.keys()), widened(pairs.values()))
        ]
        for begin in range(0, len(steps), BATCH_STEPS):
            self._connection.batch(steps[begin : begin + BATCH_STEPS])

    def __or__(self, other: Any) -> dict[Any, Any]:
        return dict(self.items()) | dict(other.items())

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc,unused-ignore]  # changes the map itself
        self.update(other)
        return self

    def __eq__(self, other: object) -> Any:
        if isinstance(other, collections.abc.Mapping) and not isinstance(other, Object):
            return len(self) == len(other) and dict(self.items()) == other
        return super().__eq__(other)

    __hash__ = JavaObject.__hash__

    def _ipython_key_completions_(self) -> list[Any]:
        return list(self)


class ItemsView(collections.abc.Set[Any]):
    """The pairs of a map, as plain tuples, with Python's set operators, whose results are Python sets."""

    __slots__ = ("_owner",)

    def __init__(self, owner: MapMixin) -> None:
        self._owner = owner

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return chain.from_iterable(self._pages())

    def _pages(self) -> Iterator[list[tuple[Any, Any]]]:
        for page in pages_with_tuples(self._owner):
            if page and set(map(type, page)) != {tuple}:
                raise ProtocolError("the peer's answer is malformed: an entry of a map is not a pair")
            yield page

    def __len__(self) -> int:
        return len(self._owner)

    def __reversed__(self) -> Iterator[tuple[Any, Any]]:
        self._owner._check_order()
        return iter(list(self)[::-1])

    @classmethod
    def _from_iterable(cls, pairs: Iterable[Any]) -> set[Any]:
        return set(pairs)

    def __contains__(self, pair: Any) -> bool:
        if not isinstance(pair, tuple) or len(pair) != 2:
            return False
        key, value = pair
        missing = object()
        found = self._owner.get(key, missing)
        return found is not missing and bool(found == value)

    def __repr__(self) -> str:
        return f"<items of {self._owner!r}>"


class EntryMixin(JavaObject):
    """java.util.Map.Entry: `key, value = entry`."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter((call(self, "getKey"), call(self, "getValue")))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return tuple(self)[index]


# ---- helpers ----


def lookup_forms(value: Any) -> Iterator[Any]:
    """Returns the value, and the other Java values that it may mean: 2 is an Integer, but also a Long, which Java does
    not consider equal."""
    yield value
    kind = type(value)
    if kind is int:
        for name, bits in (("Long", 64), ("Short", 16), ("Byte", 8)):
            if -(1 << bits - 1) <= value < 1 << bits - 1:
                yield Typed(f"java.lang.{name}", value)
        yield Typed("java.math.BigInteger", value)
    elif kind is float:
        yield Typed("java.lang.Float", value)
    elif kind is str and len(value) == 1 and ord(value) < 0x10000:
        yield Typed("java.lang.Character", value)


def _finds(source: JavaObject, method: str, value: Any) -> bool:
    """Returns whether contains, containsKey or remove finds the value. Returns False also for a value that Java cannot
    compare with the elements."""
    try:
        return bool(call(source, method, value))
    except (BadArgument, TypeError):
        return False
    except JavaException as error:
        if error.java_class in LOOKUP_ERRORS:
            return False
        raise


def _as_set(values: Any) -> set[Any]:
    if not isinstance(values, collections.abc.Iterable):
        raise TypeError(f"{type(values).__name__} is not iterable")
    return set(values)


def widened(values: Iterable[Any]) -> list[Any]:
    """Gives all elements of a list of integers the Java type that the largest integer needs, as the C half
    does: Java cannot compare an Integer with a Long."""
    made = list(values)
    if all(type(each) is int for each in made):
        for java_type, bits in (("java.lang.Integer", 32), ("java.lang.Long", 64), ("java.math.BigInteger", 0)):
            if not bits or all(-(1 << bits - 1) <= each < 1 << bits - 1 for each in made):
                return made if bits == 32 else [Typed(java_type, each) for each in made]
    return made


def as_argument(values: Iterable[Any]) -> Any:
    return values if isinstance(values, (Object, list, tuple, set, frozenset)) else list(values)


collections.abc.MutableSet.register(SetMixin)
collections.abc.MutableMapping.register(MapMixin)
