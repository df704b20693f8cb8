"""Java's lists and arrays with the protocols of Python's sequences. Slices return Python lists."""

import binascii
import collections.abc
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._native import Array, Buffered, Object, Typed
from .answers import count_of
from .collections import CollectionMixin, EntryMixin, MapMixin, as_argument, widened
from .exceptions import Denied, JavaException, PeerError
from .names import source_name
from .objects import JavaObject, NumberMixin, NumberValueMixin, OptionalMixin, call, callable_name
from .pages import PAGE_MAX, IterableMixin, MapEntry, ScalaPairMixin, elements_of, pages

SHOWN_MAX = 10  # elements of an array in its repr
BATCH_STEPS = 500
NUMPY_TYPES = {"B": "i1", "S": "i2", "I": "i4", "J": "i8", "F": "f4", "D": "f8", "Z": "?", "C": "u2"}
ROWS = 1 << 16  # the most rows of one answer
CHUNK = 1 << 19  # elements in one message; by default a peer accepts 16 MiB


class SequenceMixin(IterableMixin):
    """The common base of lists and arrays. Slices return Python lists."""

    __slots__ = ()

    def _get(self, index: int) -> Any:
        raise NotImplementedError

    def _put(self, index: int, value: Any) -> None:
        raise NotImplementedError

    def _range(self, start: int, stop: int) -> list[Any]:
        raise NotImplementedError

    def _put_range(self, start: int, stop: int, values: list[Any]) -> None:
        raise NotImplementedError

    if TYPE_CHECKING:

        def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self._get(operator.index(index))
        start, stop, step = index.indices(len(self))
        if step == 1:
            return self._range(start, max(start, stop))
        chosen = range(start, stop, step)
        if not chosen:
            return []
        low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
        return self._range(low, high + 1)[:: abs(step)][:: 1 if step > 0 else -1]

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._put(operator.index(index), value)
            return
        start, stop, step = index.indices(len(self))
        values = list(value)
        if step == 1:
            self._put_range(start, max(start, stop), values)
            return
        chosen = range(start, stop, step)
        if len(values) != len(chosen):
            raise ValueError(f"attempt to assign {len(values)} elements to a slice of {len(chosen)}")
        self._put_each(zip(chosen, values))

    def _put_each(self, pairs: Iterable[tuple[int, Any]]) -> None:
        """Assigns elements by their indexes. All elements of a message are converted before it is sent."""
        self._batched([self._step(place, each) for place, each in pairs])

    def _batched(self, steps: list[tuple[Any, ...]]) -> list[Any]:
        results: list[Any] = []
        for begin in range(0, len(steps), BATCH_STEPS):
            results += self._connection.batch(steps[begin : begin + BATCH_STEPS])
        return results

    def _step(self, place: int, value: Any) -> tuple[Any, ...]:
        raise NotImplementedError

    def __reversed__(self) -> Iterator[Any]:
        return iter(self._range(0, len(self))[::-1])

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (list, tuple, range)):
            return len(self) == len(other) and all(map(operator.eq, self, other))
        return super().__eq__(other)

    __hash__ = JavaObject.__hash__

    def __add__(self, other: Any) -> list[Any]:
        if not isinstance(other, collections.abc.Iterable):
            return NotImplemented
        return [*self, *other]

    def __radd__(self, other: Any) -> list[Any]:
        if not isinstance(other, collections.abc.Iterable):
            return NotImplemented
        return [*other, *self]

    def __mul__(self, count: Any) -> list[Any]:
        return list(self) * operator.index(count) if hasattr(type(count), "__index__") else NotImplemented

    __rmul__ = __mul__

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        for place, each in enumerate(self[start:stop], slice(start, stop).indices(len(self))[0]):
            if each is value or each == value:
                return place
        raise ValueError(f"{value!r} is not in the {self._java_type}")


class ListMixin(SequenceMixin, CollectionMixin):
    """java.util.List."""

    __slots__ = ()

    def _get(self, index: int) -> Any:
        return call(self, "get", self._place(index))

    def _put(self, index: int, value: Any) -> None:
        call(self, "set", self._place(index), value)

    def _place(self, index: int) -> int:
        return index if index >= 0 else len(self) + index

    def _range(self, start: int, stop: int) -> list[Any]:
        if start >= stop:
            return []
        if start == 0 and stop == len(self):
            return list(elements_of(self))
        return list(elements_of(call(self, "subList", start, stop)))

    def _step(self, place: int, value: Any) -> tuple[Any, ...]:
        return "call", callable_name(self, "set"), "set", self, (place, value)

    def _put_range(self, start: int, stop: int, values: list[Any]) -> None:
        """Replaces a range. Values that cannot be converted raise before an element is removed."""
        if values and len(values) == stop - start:  # lists of a fixed length support this, too
            try:
                part = call(self, "subList", start, stop)
                self._connection.call("java.util.Collections", "copy", None, (part, values))
            except Denied:
                self._put_each(zip(range(start, stop), values))
            return
        if values:
            call(self, "addAll", stop, values)
        if start < stop:
            call(call(self, "subList", start, stop), "clear")

    def __delitem__(self, index: Any) -> None:
        if not isinstance(index, slice):
            call(self, "remove", Typed("int", self._place(operator.index(index))))
            return
        start, stop, step = index.indices(len(self))
        if step == 1:
            self._put_range(start, max(start, stop), [])
            return
        for place in sorted(range(start, stop, step), reverse=True):
            call(self, "remove", Typed("int", place))

    def __iadd__(self, other: Iterable[Any]) -> Any:  # type: ignore[misc]  # changes the list itself
        self.extend(other)
        return self

    def __imul__(self, count: Any) -> Any:
        times = operator.index(count)
        if times <= 0:
            call(self, "clear")
        elif times > 1:
            size = len(self)
            try:
                once = self._connection.new("java.util.ArrayList", (self,))
            except Denied:
                once = None
            for _ in range(times - 1):  # lists copy the added elements before they change
                call(self, "addAll", call(self, "subList", 0, size) if once is None else once)
        return self

    def append(self, value: Any) -> None:
        call(self, "add", value)

    def extend(self, values: Iterable[Any]) -> None:
        added = as_argument(values)
        if not isinstance(added, list) or len(added) <= CHUNK:
            call(self, "addAll", added)
            return
        added = widened(added)
        for begin in range(0, len(added), CHUNK):
            call(self, "addAll", added[begin : begin + CHUNK])

    def insert(self, index: int, value: Any) -> None:
        size = len(self)
        place = index + size if index < 0 else index
        call(self, "add", Typed("int", min(max(place, 0), size)), value)

    def pop(self, index: int = -1) -> Any:
        return call(self, "remove", Typed("int", self._place(operator.index(index))))

    def reverse(self) -> None:
        self._connection.call("java.util.Collections", "reverse", None, (self,))

    def sort(self, comparator: Any = None, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sorts in Java: by a comparator (a function of two elements), by a key as in Python, or in natural order."""
        if key is not None:
            if comparator is not None:
                raise TypeError("sort accepts a comparator or a key, not both")
            comparator = _by_key(key, reverse)
        elif reverse:
            arguments = () if comparator is None else (Typed("java.util.Comparator", comparator),)
            comparator = self._connection.call("java.util.Collections", "reverseOrder", None, arguments)
        call(self, "sort", comparator)


def _by_key(key: Callable[[Any], Any], reverse: bool) -> Callable[[Any, Any], int]:
    sign = -1 if reverse else 1

    def compare(left: Any, right: Any) -> int:
        first, second = key(left), key(right)
        return sign * (-1 if first < second else int(second < first))

    return compare


# ---- arrays ----


def is_array_of(value: Any, other: "ArrayMixin") -> bool:
    return isinstance(value, ArrayMixin) and value._java_type == other._java_type


def is_buffer(value: Any) -> bool:
    """Returns whether the value is a Python object with the buffer protocol, such as a numpy array. A buffer
    is sent without conversion."""
    if isinstance(value, Object):
        return False
    try:
        return memoryview(value).ndim > 0
    except (TypeError, ValueError, BufferError):
        return False


class ArrayMixin(SequenceMixin):
    """Arrays, whose length is fixed."""

    __slots__ = ()

    @property
    def length(self) -> int:
        return len(self)

    def __len__(self) -> int:
        return count_of(self._connection.get(self._java_type, "length", self), "the length of an array")

    def _get(self, index: int) -> Any:
        return self._connection.get(self._java_type, f"[{index}]", self)

    def _put(self, index: int, value: Any) -> None:
        self._connection.put(self._java_type, f"[{index}]", self, value)

    def _step(self, place: int, value: Any) -> tuple[Any, ...]:
        return "put", self._java_type, f"[{place}]", self, value

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice) and (is_array_of(value, self) or is_buffer(value)):
            start, stop, step = index.indices(len(self))
            if step == 1:
                self._put_range(start, max(start, stop), value)
                return
        super().__setitem__(index, value)

    def _put_range(self, start: int, stop: int, values: Any) -> None:
        if len(values) != stop - start:
            raise ValueError(
                f"cannot put {len(values)} elements in place of {stop - start}: the length of an array is fixed"
            )
        if len(values):
            self._connection.put(self._java_type, f"[{start}:{stop}]", self, Typed(self._java_type, values))

    def clone(self) -> Any:
        """Returns a new array with the same elements."""
        return self._connection.get(self._java_type, "[:]", self)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("an element of an array cannot be deleted: the length of an array is fixed")

    def __iadd__(self, other: Any) -> Any:
        raise TypeError("an array cannot be extended: the length of an array is fixed; a + b is a Python list")

    def __imul__(self, count: Any) -> Any:
        raise TypeError("an array cannot be extended: the length of an array is fixed; a * n is a Python list")

    def __contains__(self, value: Any) -> bool:
        return any(each is value or each == value for each in self)

    def count(self, value: Any) -> int:
        return sum(1 for each in self if each is value or each == value)

    _identity = True

    def __repr__(self) -> str:
        name = source_name(self._java_type)
        try:
            length = len(self)
            shown = repr(self._range(0, min(length, SHOWN_MAX)))
        except (JavaException, PeerError, OSError, RuntimeError, ValueError, TypeError) as why:
            return f"<{name}: {type(why).__name__}>"
        return f"<{name} of {length}: {shown if length <= SHOWN_MAX else shown[:-1] + ', ...]'}>"


class ObjectArrayMixin(ArrayMixin):
    """Arrays of objects."""

    __slots__ = ()

    def _range(self, start: int, stop: int) -> list[Any]:
        found: list[Any] = []
        if start < stop:
            for page in pages(self, min(stop - start, PAGE_MAX), start):
                found += page
                if len(found) >= stop - start:
                    break
        return found[: stop - start]


class MatrixMixin(ObjectArrayMixin):
    """Arrays of arrays of primitives, of any depth. numpy.asarray(a) copies all elements and keeps their type."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy  # type: ignore[import-not-found,unused-ignore]

        if copy is False:
            raise ValueError("the elements of a Java array are copied")
        try:
            made = self._matrix()
        except ValueError:
            if dtype is None or numpy.dtype(dtype) != object:
                raise
            rows = list(self)
            made = numpy.empty(len(rows), object)
            for place, row in enumerate(rows):
                made[place] = row
        return made if dtype is None else made.astype(dtype, copy=False)

    def _matrix(self) -> Any:
        import numpy

        if self._java_type.startswith("[[["):
            tables = list(self)
            self._check_rows(tables)
            if tables:
                return numpy.stack([table.__array__() for table in tables])
        rows = self._rows()
        self._check_rows(rows)
        kind = numpy.dtype(NUMPY_TYPES[self._java_type[-1]])
        lengths = {len(row) // kind.itemsize for row in rows}
        if len(lengths) > 1:
            raise ValueError(f"the rows of {source_name(self._java_type)} have {min(lengths)} to {max(lengths)} elements")
        shape = (len(rows), *lengths) if rows else (0,) * self._java_type.count("[")
        return numpy.frombuffer(bytearray().join(rows), kind).reshape(shape)

    def _check_rows(self, rows: list[Any]) -> None:
        for place, row in enumerate(rows):
            if row is None:
                raise ValueError(f"{source_name(self._java_type)}: row {place} is null")

    def _rows(self) -> list[Any]:
        """Returns the bytes of each row. A null row is None."""
        rows: list[Any] = []
        done = False
        while not done:
            page, done, _ = self._connection.fetch(self, ROWS, len(rows), True)
            rows += [binascii.a2b_base64(row) if type(row) is str else self._row(row) for row in page]
        return rows

    @staticmethod
    def _row(row: Any) -> Any:
        """Returns the bytes of a row that did not fit in an answer and was sent as an object."""
        import numpy

        return None if row is None else numpy.asarray(row).tobytes()


class PrimitiveArrayMixin(ArrayMixin):
    """Arrays of primitives, which have the buffer protocol: memoryview(a), numpy.asarray(a), bytes(a)."""

    __slots__ = ()

    def _range(self, start: int, stop: int) -> list[Any]:
        if start >= stop:
            return []
        assert isinstance(self, Array)
        elements: list[Any] = []
        for begin in range(start, stop, CHUNK):
            elements += self._read(begin, min(begin + CHUNK, stop)).tolist()
        return [chr(each) for each in elements] if self._java_type == "[C" else elements

    def __iter__(self) -> Iterator[Any]:
        return iter(self._range(0, len(self)))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (bytes, bytearray)):
            return self._java_type == "[B" and bytes(self) == other
        return super().__eq__(other)

    __hash__ = JavaObject.__hash__


class BufferMixin(Buffered, JavaObject):
    """java.nio.ByteBuffer and similar classes. The buffer protocol gives a copy of the elements between position and
    limit, which do not change."""

    __slots__ = ()

    def _elements(self) -> Any:
        kind = next(each for each in BUFFERS if each in type(self)._supertypes)  # type: ignore[attr-defined]
        view = self._connection.call(kind, "duplicate", self)
        length = count_of(self._connection.call("java.nio.Buffer", "remaining", view), "what remains of a buffer")
        made = self._connection.new(BUFFERS[kind], (length,))
        self._connection.call(kind, "get", view, (made,))
        return made


BUFFERS = {
    f"java.nio.{name}Buffer": f"{name.lower()}[]" for name in ("Byte", "Char", "Short", "Int", "Long", "Float", "Double")
}

collections.abc.MutableSequence.register(ListMixin)
collections.abc.Sequence.register(ArrayMixin)


# ---- deep conversion ----

ENUM = "java.lang.Enum"


def to_python(value: Any) -> Any:
    """Converts the value and all values in it to Python's own: maps to dicts; collections, arrays, iterables and
    iterators to lists; entries and pairs to tuples; enum constants to their names; numbers such as AtomicInteger to
    ints or floats; an Optional to its value or None. Other objects are not converted. Raises ValueError if a value
    contains itself."""
    return _to_python(value, [])


def _to_python(value: Any, outer: list[Any]) -> Any:
    kind = type(value)
    if isinstance(value, JavaObject):
        key: Any = value._number, value._epoch
    elif kind in (list, tuple, dict, set, frozenset) or isinstance(value, MapEntry):
        key = id(value)
    else:
        return value
    if key in outer:
        raise ValueError(f"{kind.__name__} contains itself")
    outer.append(key)
    converted = _convert(value, outer)
    outer.pop()
    return converted


def _convert(value: Any, outer: list[Any]) -> Any:
    if isinstance(value, (MapMixin, dict)):
        return {_to_python(key, outer): _to_python(each, outer) for key, each in [*value.items()]}
    if isinstance(value, (EntryMixin, ScalaPairMixin, tuple)):
        return tuple(_to_python(each, outer) for each in value)
    if isinstance(value, (list, set, frozenset)):
        return [_to_python(each, outer) for each in value]
    if not isinstance(value, JavaObject):
        return value
    supertypes: frozenset[str] = getattr(type(value), "_supertypes", frozenset())
    if ENUM in supertypes:
        return call(value, "name")
    if isinstance(value, OptionalMixin):
        return _to_python(value._value(), outer)
    if isinstance(value, NumberValueMixin):
        return value._value()
    if isinstance(value, NumberMixin):
        return _number_of(value)
    if SCALA_MAP in supertypes:
        pairs: Any = value
        return dict(_to_python(each, outer) for each in [*pairs])
    if isinstance(value, collections.abc.Iterable):
        return [_to_python(each, outer) for each in [*value]]
    return value


SCALA_MAP = "scala.collection.Map"


def _number_of(value: NumberMixin) -> Any:
    """Returns the value of a java.lang.Number that is not converted to a Python number."""
    text = str(value)
    try:
        return int(text)
    except ValueError:
        return float(value)
