"""Writes `.pyi` files of Java classes, for type checkers and editors: `python -m jpeer stubs 'java.util.**' -o stubs`.

With the folder in MYPYPATH, `from jpeer.java.util import ArrayList` is typed. Results and fields have their types.
Parameters of reference types accept anything, because Java converts arguments such as functions and lists.
"""

import keyword
import re
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._value_classes import STUB_TYPES
from .classes import MIXINS, OVERRIDES, THROWABLE, parameter_name, python_name
from .connection import Java
from .exceptions import JavaException
from .objects import JavaObject

Info = dict[str, Any]

HEADER = """# Made by `python -m jpeer stubs`.
# mypy: disable-error-code="override,misc"
import builtins
import datetime
import decimal
import typing
import uuid

import jpeer
import jpeer.collections
import jpeer.objects
import jpeer.pages
import jpeer.sequences
import jpeer.times
"""

# Java types of results and fields, and their Python types.
VALUES = {
    **dict.fromkeys(["byte", "short", "int", "long"], "builtins.int"),
    **dict.fromkeys(["float", "double"], "builtins.float"),
    "boolean": "builtins.bool",
    "char": "builtins.str",
    "void": "None",
    **STUB_TYPES,
}
PARAMETER_TYPES = {"builtins.int", "builtins.float", "builtins.str", "builtins.bool"}


def write_stubs(java: Java, patterns: Iterable[str], folder: Path) -> int:
    """Writes stubs for all public classes that match a pattern. Returns their number."""
    everything = {info["className"]: info for info in java._connection.classes_info([])}
    matches = [re.compile(_regex(each)).fullmatch for each in patterns]
    chosen = sorted(name for name in everything if any(match(name) for match in matches))
    names = {name for name in chosen if _is_public(everything, name)}
    packages: dict[str, list[str]] = {}
    for name in sorted(names):
        if "$" not in name:
            packages.setdefault(name.rpartition(".")[0], []).append(name)
    for package, members in packages.items():
        writer = Writer(everything, names)
        infos = {
            info["className"]: info
            for info in java._connection.classes_info([each for each in names if _package_of(each) == package], True)
        }
        lines = [line for name in members for line in writer.write_class(infos, name, "")]
        _write_file(folder, package, writer.imports, lines)
    return len(names)


def _regex(pattern: str) -> str:
    parts = re.split(r"(\*\*|\*)", pattern)
    return "".join({"**": ".*", "*": r"[^.]*"}.get(part, re.escape(part)) for part in parts)


def _is_public(everything: dict[str, Info], name: str) -> bool:
    """Returns whether the class and all classes around it are public. Returns False also for a name that Python cannot
    write, and for a class of the unnamed package: Python cannot import it, and its file would replace jpeer's own."""
    if not _package_of(name):
        return False
    parts = name.split("$")
    outer = ["$".join(parts[: count + 1]) for count in range(len(parts))]
    return all(each in everything and "public" in everything[each]["modifiers"].split() for each in outer) and all(
        part.isidentifier() and not keyword.iskeyword(part) for part in re.split(r"[.$]", name)
    )


def _package_of(name: str) -> str:
    return name.partition("$")[0].rpartition(".")[0]


def _write_file(folder: Path, package: str, imports: set[str], lines: list[str]) -> None:
    place = folder / "jpeer"
    for part in package.split("."):
        place /= part
        place.mkdir(parents=True, exist_ok=True)
        (place / "__init__.pyi").touch()
    text = HEADER + "".join(f"import jpeer.{each}\n" for each in sorted(imports)) + "\n" + "\n".join(lines) + "\n"
    (place / "__init__.pyi").write_text(text, encoding="utf-8")


class Writer:
    """Writes the classes of one package."""

    def __init__(self, everything: dict[str, Info], names: set[str]) -> None:
        self._everything = everything
        self._names = names
        self._models: dict[str, Any] = {}
        self.imports: set[str] = set()  # packages whose classes are used

    def write_class(self, infos: dict[str, Info], name: str, indent: str) -> list[str]:
        info = infos[name]
        local = name.rpartition(".")[2].rpartition("$")[2]
        lines = [f"{indent}class {local}({', '.join(self._bases(info))}):"]
        body = indent + "    "
        nested = {each for each in infos if each.startswith(f"{name}$") and "$" not in each[len(name) + 1 :]}
        for each in sorted(nested & self._names, key=lambda each: (len(nested & self._supertypes(each)), each)):
            lines += self.write_class(infos, each, body)
        constructors = [each for each in info["constructors"] if "public" in each["modifiers"].split()]
        signatures = sorted({self._parameters(each, ", ") for each in constructors}, key=_breadth)
        for each in signatures:
            lines += [f"{body}@typing.overload"] * (len(signatures) > 1)
            lines.append(f"{body}def __init__(self{each}) -> None: ...")
        lines += self._methods(info, body)
        lines += self._fields(info, body)
        return lines if len(lines) > 1 else [*lines, f"{body}..."]

    def _bases(self, info: Info) -> list[str]:
        return [self._base(info["className"], each) for each in self._base_list(info)]

    def _base(self, name: str, base: Any) -> str:
        if base in (JavaObject, JavaException):
            return f"jpeer.{base.__name__}"
        if not isinstance(base, str):
            return f"{base.__module__}.{base.__name__}"
        outer = name.rpartition("$")[0]
        is_sibling = outer and base.rpartition("$")[0] == outer  # in the outer class, which is not defined here yet
        return base.rpartition("$")[2] if is_sibling else self._class(base)

    def _base_list(self, info: Info) -> list[Any]:
        """Returns the bases (names of Java classes, and Python classes): the superclass, the interfaces, and the mixins
        that these lack. An interface is omitted if Python finds no resolution order with it."""
        superclass = "" if info["className"] == THROWABLE else _erased(info["superclass"] or "")
        known: list[Any] = [each for each in [superclass, *map(_erased, info["interfaces"])] if each in self._names]
        known = [each for each in known if not any(each in self._supertypes(other) for other in known if other != each)]
        supertypes = self._supertypes(info["className"])
        if THROWABLE in supertypes and superclass not in self._names:
            known.append(JavaException)
        elif not known:
            known.append(JavaObject)
        inherited = {name for each in known if isinstance(each, str) for name in self._supertypes(each)}
        found = [MIXINS[each] for each in MIXINS if each in supertypes and each not in inherited]
        mixins = [each for each in found if not any(each is not other and issubclass(other, each) for other in found)]
        bases = [*dict.fromkeys(mixins), *known]
        while len(bases) > 1 and self._model(bases) is None:
            del bases[-1 if isinstance(bases[-1], str) else -2]
        return bases

    def _model(self, bases: list[Any]) -> Any:
        """Returns a class with these bases in Python's resolution order. Returns None if no order is
        possible."""
        models = [self._model_of(each) if isinstance(each, str) else each for each in bases]
        try:
            return types.new_class("Model", tuple(models))
        except TypeError:
            return None

    def _model_of(self, name: str) -> Any:
        if name not in self._models:
            self._models[name] = self._model(self._base_list(self._everything[name]))
        return self._models[name]

    def _supertypes(self, name: str) -> set[str]:
        found: set[str] = set()
        todo = [name]
        while todo:
            each = _erased(todo.pop())
            if each in found or each not in self._everything:
                continue
            found.add(each)
            info = self._everything[each]
            todo += [*info["interfaces"], *([info["superclass"]] if info["superclass"] else [])]
        return found

    def _methods(self, info: Info, indent: str) -> list[str]:
        overloads: dict[str, dict[str, tuple[str, bool]]] = {}
        supertypes = self._supertypes(info["className"])
        for method in info["methods"]:
            if "public" in method["modifiers"].split() and method["name"].isidentifier():
                known = overloads.setdefault(python_name(method["name"]), {})
                known.setdefault(self._parameters(method, ""), (self._type(method["returnType"]), method["isStatic"]))
        lines = []
        for name, known in overloads.items():
            mixin = OVERRIDES.get(name)
            if mixin is not None and any(MIXINS.get(each) is mixin for each in supertypes):
                continue
            mixed = len({is_static for _, is_static in known.values()}) > 1
            if mixed:
                lines.append(f"{indent}def {name}(*args: typing.Any) -> typing.Any: ...")
                continue
            for parameters, (result, is_static) in sorted(known.items(), key=lambda each: _breadth(each[0])):
                lines += [f"{indent}@typing.overload"] * (len(known) > 1)
                lines += [f"{indent}@staticmethod"] * is_static
                # If a class's objects are converted to Python values, the method's receiver is a Python
                # value.
                receiver = "self: typing.Any" if info["className"] in VALUES else "self"
                first = "" if is_static else f"{receiver}, " if parameters else receiver
                lines.append(f"{indent}def {name}({first}{parameters}) -> {result}: ...")
        return lines

    def _fields(self, info: Info, indent: str) -> list[str]:
        methods = {method["name"] for method in info["methods"]}
        lines = []
        for field in info["fields"]:
            if "public" in field["modifiers"].split() and field["name"] not in methods and field["name"].isidentifier():
                kind = self._type(field["type"])
                kind = f"typing.ClassVar[{kind}]" if field["isStatic"] else kind
                lines.append(f"{indent}{python_name(field['name'])}: {kind}")
        return lines

    def _parameters(self, member: Info, start: str) -> str:
        """Returns the parameters, by position only, as in Java."""
        parameters = member["parameters"]
        if not parameters:
            return ""
        texts = []
        for place, each in enumerate(parameters):
            kind = self._type(each["type"])
            variable = place == len(parameters) - 1 and each["type"].endswith("[]")
            kind = kind if kind in PARAMETER_TYPES and not variable else "typing.Any"
            name = parameter_name(each["name"])
            texts.append(f"{'*' * variable}{name}: {kind}")
        if not texts[-1].startswith("*") or len(texts) > 1:
            texts.insert(len(texts) - texts[-1].startswith("*"), "/")
        return start + ", ".join(texts)

    def _type(self, java_type: str) -> str:
        """Returns the type of a result or field. A class without a stub is Any."""
        if java_type.endswith("[]"):
            return f"typing.Sequence[{self._type(java_type[:-2])}]"
        name = _erased(java_type)
        if name in VALUES:
            return VALUES[name]
        return self._class(name) if name in self._names else "typing.Any"

    def _class(self, name: str) -> str:
        package = _package_of(name)
        self.imports.add(package)
        return f"jpeer.{name.replace('$', '.')}"


def _breadth(parameters: str) -> tuple[int, int, str]:
    """Returns a sort key for overloads: narrower parameters come first. A type checker accepts a bool as int, and an
    int as float."""
    kinds = [each.partition(": ")[2] for each in parameters.split(", ")]
    breadths = {"builtins.int": 1, "builtins.float": 2, "typing.Any": 3}
    return "*" in parameters, sum(breadths.get(each, 0) for each in kinds), parameters


def _erased(java_type: str) -> str:
    """Removes the type arguments: `java.util.Map$Entry<K, V>` becomes `java.util.Map$Entry`."""
    return re.sub(r"<.*>", "", java_type)


__all__ = ["write_stubs"]
