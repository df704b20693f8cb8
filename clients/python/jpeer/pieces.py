"""Values that are too long for one message. They are sent in pieces, which jpeer.assemble joins to one Java object."""

from typing import TYPE_CHECKING, Any

from .collections import widened

if TYPE_CHECKING:
    from .connection import Java

LONG = 1 << 16  # bytes or characters; shorter values are sent whole
MANY = 1000  # elements
PIECE = 16 << 20  # the most bytes of a message with a piece
ELEMENT = 28  # the most bytes of a number in JSON
FRAME = 4096  # bytes of a message in addition to its piece
TEXT = "java.lang.String"
LIST, MAP = "java.util.ArrayList", "java.util.HashMap"
# The declared types for which a list or dict may be sent in pieces.
LISTS = {LIST, "java.util.List", "java.util.Collection", "java.lang.Iterable", "java.lang.Object"}
MAPS = {MAP, "java.util.Map", "java.lang.Object"}
KINDS = {
    "byte": "B", "short": "S", "int": "I", "long": "J", "float": "F", "double": "D", "boolean": "Z", "char": "C"
}  # fmt: skip
FORMATS = {
    "b": "byte", "B": "byte", "c": "byte", "h": "short", "i": "int", "q": "long", "f": "float", "d": "double",
    "?": "boolean", "H": "char"
}  # fmt: skip
SIZES = {"byte": 1, "boolean": 1, "short": 2, "char": 2, "int": 4, "float": 4, "long": 8, "double": 8}


class Pieces:
    """Decides which values of a request that is too long are sent in pieces (Hooks.in_pieces)."""

    def __init__(self, java: "Java") -> None:
        self._java = java
        self.message_max = self.values_max = 0

    def learn(self) -> None:
        self.message_max, self.values_max = self._java._connection.learn_limits()

    def __call__(self, value: Any, declared: str | None) -> Any:
        """Returns the object assembled from the value's pieces, or None if the value is sent whole or only its elements
        are sent in pieces."""
        if isinstance(value, str):
            room = max((self._room() - FRAME) // 6, 1)  # a character has at most 6 bytes in JSON
            is_long = len(value) > LONG and declared in (None, TEXT, "java.lang.CharSequence", "java.lang.Object")
            return self._assemble(TEXT, TEXT, value, room) if is_long else None
        if isinstance(value, (list, tuple)):
            return self._list(value, declared)
        if isinstance(value, dict):
            return self._dict(value, declared)
        return self._buffer(value, declared, is_filled_by_java=True)

    def array(self, name: str, content: Any) -> Any:
        """Returns a new array of primitives if its elements may be too many for one message, else None."""
        size = content.nbytes * 4 // 3 if hasattr(content, "nbytes") else len(content) * ELEMENT
        java_type = f"[{KINDS[name[:-2]]}"
        if size + FRAME <= self.message_max or self.message_max == 0:
            return None
        hooks = self._java._hooks
        if java_type not in hooks.classes:
            hooks.classes[java_type] = hooks.make_class(java_type, None)  # type: ignore[arg-type]
        if isinstance(content, (list, tuple)):
            return self._list(content, name)
        return self._buffer(content, name, is_filled_by_java=False)

    def _list(self, value: Any, declared: str | None) -> Any:
        if len(value) <= MANY:
            return None
        element = declared[:-2] if declared and declared.endswith("[]") else None
        if element in KINDS:
            return self._assemble(f"{element}[]", f"[{KINDS[element]}", value, self._count())
        if declared is not None and declared not in LISTS:
            return None
        return self._assemble(LIST, LIST, widened(value), self._count())

    def _dict(self, value: dict[Any, Any], declared: str | None) -> Any:
        if len(value) <= MANY or (declared is not None and declared not in MAPS):
            return None
        if not all(type(key) is str for key in value):
            return None
        entries = list(zip(value, widened(value.values()), strict=True))
        return self._assemble(MAP, MAP, entries, self._count(), dict)

    def _buffer(self, value: Any, declared: str | None, is_filled_by_java: bool) -> Any:
        try:
            view = memoryview(value)
        except TypeError:
            return None
        code = view.format.lstrip("<=@")
        kind = FORMATS.get("iq"[view.itemsize // 8] if code in ("l", "n") else code)
        fits = kind is not None and SIZES[kind] == view.itemsize and view.ndim == 1 and view.c_contiguous
        if not fits or view.nbytes <= LONG or declared not in (None, f"{kind}[]", "java.lang.Object"):
            return None
        assert kind is not None
        if is_filled_by_java and not view.readonly:  # the elements that Java writes would not be copied back
            raise OverflowError(
                f"a buffer of {view.nbytes} bytes that Java could fill is too long for one message; give bytes(...) or "
                f"a view that is read only (memoryview(x).toreadonly()), or an array: java.array({kind!r}, ...)"
            )
        room = max((self._room() - FRAME) // 4 * 3 // view.itemsize, 1)
        return self._assemble(f"{kind}[]", f"[{KINDS[kind]}", view, room)

    def _count(self) -> int:
        """Returns the number of elements of the first piece."""
        return max(min(self.values_max // 2, self._room() // 64), 1)

    def _room(self) -> int:
        """Returns the greatest size of a message with a piece. Larger messages would only need more memory on both
        sides."""
        return min(self.message_max, PIECE)

    def _assemble(self, name: str, java_type: str, value: Any, room: int, make: Any = None) -> Any:
        """Sends the pieces. A piece that is still too long is halved."""
        made = None
        begin = 0
        while begin < len(value):
            part = value[begin : begin + room]
            try:
                made = self._java._connection.assemble(name, java_type, part if make is None else make(part), made)
            except OverflowError as error:
                if room == 1 or not str(error).endswith("-max)"):
                    raise
                room = max(min(room, len(part)) // 2, 1)
                continue
            begin += room
        return made

