"""The calls of calls.txt, with the identifiers, arguments and results of a generated client."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "org.apache.commons.lang3."
PRIMITIVES = ("boolean", "byte", "char", "short", "int", "long", "float", "double", "void")
CODES = {".": "_", "_": "_1", "-": "_2", "$": "_3"}
LINE = re.compile(r"(?:(\w+) = )?([\w.]+)\(([\w.,$]+)\) (\[.*\]) => (.*)")
# The complete answers of the peer's own methods.
OWN = (
    ("call", {"type": "java.lang.Math", "method": "max", "args": [3, 5]},
     {"void": False, "value": {"type": "int", "null": False, "value": "5"}}),
    ("call", {"type": "java.lang.System", "method": "getProperty", "args": ["no.such.property"]},
     {"void": False, "value": {"type": "java.lang.String", "null": True}}),
    ("call", {"type": "java.lang.Integer", "method": "parseInt", "args": ["x"]}, "!java.lang.NumberFormatException"),
    ("new", {"type": "java.lang.String", "args": ["hello"]},
     {"void": False, "value": {"type": "java.lang.String", "null": False, "value": "hello"}}),
    ("get", {"type": "java.lang.Integer", "field": "MAX_VALUE"},
     {"void": False, "value": {"type": "int", "null": False, "value": "2147483647"}}),
    ("put", {"type": "java.util.Date", "field": "defaultCenturyStart", "value": 0}, {"void": True}),
    ("control", {"method": "ping"}, {"void": True}),
    ("meta", {"method": "fetch_classes_info",
              "args": [{"name": "compress_encode", "type": "boolean", "value": False},
                       {"name": "include_classes", "type": "java.lang.String[]", "value": ["com.example.Absent"]}]},
     {"void": False, "value": {"type": "java.lang.String", "null": False, "value": "[]", "status": "OK"}}),
)


@dataclass(frozen=True)
class Call:
    method: str  # its name in the generated client
    arguments: list
    result: object  # "$object": a ref; "!CLASS": an exception of that class
    kept_as: str = None


def identifier_of(name):
    """Applies the table of docs/descriptions.md, as far as these names need it."""
    return "".join(CODES.get(c, c) for c in name)


def full_type(name):
    word = name.partition(".")[0]
    if word in PRIMITIVES:
        return name
    return (PACKAGE if "$" in name else "java.lang.") + name


def read_call(line):
    kept_as, member, types, arguments, result = LINE.fullmatch(line).groups()
    suffix = "-".join(full_type(name) for name in types.split(","))
    expected = result if result[0] in "!$" else json.loads(result)
    return Call(identifier_of(f"{PACKAGE}{member}-{suffix}"), json.loads(arguments), expected, kept_as)


def of_lang3():
    lines = Path(__file__).with_name("calls.txt").read_text(encoding="utf-8").splitlines()
    return [read_call(line) for line in lines if not line.startswith("#")]


def of_the_peer(params_of):
    """The arguments by position, in the order of the document. Missing arguments at the end are omitted;
    earlier missing arguments are `ABSENT`."""
    calls = []
    for method, given, result in OWN:
        names = params_of[method]
        last = max(names.index(name) for name in given)
        calls.append(Call(method, [given.get(name, ABSENT) for name in names[:last + 1]], result))
    return calls


ABSENT = {"$": "absent"}


def run_tool(command, folder):
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{Path(command[0]).name}: {(done.stdout + done.stderr).strip()[-2000:]}"
    return done.stdout
