"""Colfer messages for tests: a reader and a writer that share no code with the peer's reader and writer.

A struct is a dict of the fields that are present; a missing field has its zero value (0, "", b"", False, [] or None).
The reader is strict: bytes that the reference compiler would write in another way, or refuse, are Malformed. Such bytes
are a zero value that is present, a longer form of a number than needed, fields out of order, a text that is not UTF-8,
and bytes after the end.
"""

import re
from pathlib import Path

END = 0x7F
FIXED = 0x80  # in a header: the number follows with all its bytes
SIZE_MAX = 16 * 1024 * 1024
LIST_MAX = 64 * 1024
SCHEMA = Path(__file__).resolve().parent.parent / "colfer/jpeer.colf"


def read_schema(text):
    """Returns for each struct the (name, type) of its fields, in the order of their indexes. Intercept messages are
    left out, because they are not served. A name in the schema may have a capital letter, because some language needs
    that."""
    structs = {name: [(field[0].lower() + field[1:], kind) for field, kind in re.findall(r"^\t(\w+) +(\S+)", fields, re.M)]
               for name, fields in re.findall(r"^type (\w+) struct {\n(.*?)^}", text, re.M | re.S)}
    del structs["InterceptMessage"]
    return {name: [field for field in fields if field[1] != "InterceptMessage"] for name, fields in structs.items()}


STRUCTS = read_schema(SCHEMA.read_text(encoding="utf-8"))
# Each kind of number: its greatest number of bytes, and the first value that needs this many bytes.
NUMBERS = {"uint32": (4, 1 << 21), "uint64": (8, 1 << 49)}


class Malformed(ValueError):
    """No writer of Colfer makes these bytes."""


def varint(number):
    """LEB128: seven bits a byte, the lowest first."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def sized(data):
    return varint(len(data)) + data


def encode_element(kind, value):
    return sized(value.encode()) if kind == "text" else encode(kind, value)


def encode_field(index, kind, value):
    if kind == "bool":
        return bytes([index])
    if kind == "uint8":
        return bytes([index, value])
    if kind in NUMBERS:
        width, fixed_from = NUMBERS[kind]
        if value >= fixed_from:
            return bytes([index | FIXED]) + value.to_bytes(width, "big")
        return bytes([index]) + varint(value)
    if kind == "binary":
        return bytes([index]) + sized(value)
    if kind.startswith("[]"):
        return bytes([index]) + varint(len(value)) + b"".join(encode_element(kind[2:], one) for one in value)
    return bytes([index]) + encode_element(kind, value)


def encode(struct, fields):
    """The bytes of a struct. A dict without fields is written, None is not."""
    known = STRUCTS[struct]
    assert set(fields) <= {name for name, _ in known}, (struct, fields)
    fields_given = [(index, kind, fields.get(name)) for index, (name, kind) in enumerate(known)]
    written = [encode_field(index, kind, value) for index, kind, value in fields_given if value or value == {}]
    return b"".join(written) + bytes([END])


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def fail(self, why):
        raise Malformed(f"byte {self.at}: {why}")

    def take(self, size):
        if size > len(self.data) - self.at:
            self.fail(f"{size} bytes are announced, {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte <= 0x7F:
                break
        if byte == 0 and shift > 7:
            self.fail("a number is longer than needed")
        return number

    def number(self, kind, fixed):
        width, fixed_from = NUMBERS[kind]
        value = int.from_bytes(self.take(width), "big") if fixed else self.varint()
        if fixed != (value >= fixed_from):
            self.fail(f"{value} is written in the wrong form")
        return value

    def text(self):
        data = self.take(self.varint())
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            return self.fail(f"no UTF-8: {error}")

    def elements(self, kind):
        count = self.varint()
        if count > LIST_MAX:
            self.fail(f"a list of {count}")
        return [self.text() if kind == "text" else self.struct(kind) for _ in range(count)]

    def value(self, kind, fixed):
        if kind in NUMBERS:
            return self.number(kind, fixed)
        if fixed:
            self.fail(f"{kind} has no other form")
        if kind == "bool":
            return True
        if kind == "uint8":
            return self.byte()
        if kind == "binary":
            return self.take(self.varint())
        if kind == "text":
            return self.text()
        return self.elements(kind[2:]) if kind.startswith("[]") else self.struct(kind)

    def struct(self, name):
        fields, known, least = {}, STRUCTS[name], 0
        while (header := self.byte()) != END:
            index = header & ~FIXED
            if not least <= index < len(known):
                self.fail(f"field {index} of {name}, after field {least - 1}")
            least = index + 1
            field, kind = known[index]
            value = fields[field] = self.value(kind, bool(header & FIXED))
            if not value and value != {}:
                self.fail(f"the zero value of {name}.{field} is present")
        return fields


def decode(struct, data):
    """The struct of these bytes; raises Malformed."""
    if len(data) > SIZE_MAX:
        raise Malformed(f"{len(data)} bytes")
    reader = Reader(data)
    fields = reader.struct(struct)
    if reader.at != len(data):
        reader.fail(f"{len(data) - reader.at} bytes after the end")
    return fields
