"""Packages of Java as modules, whose attributes are classes and packages; `from jpeer.java.util import ArrayList` imports
from those of the connection that was opened last.

They are modules, with `__getattr__` and `__dir__` among their names, because the completion of IPython evaluates
attributes of these, and not of objects whose class has a `__getattr__`.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .exceptions import NotFound

if TYPE_CHECKING:
    from .connection import Java

PARENT = __name__.rpartition(".")[0]


class Package(ModuleType):
    """A Java package. Attributes that begin with a capital letter are classes, the others packages."""

    def __init__(self, find_java: "Callable[[], Java]", java_name: str, name: str = "") -> None:
        super().__init__(name or java_name)
        self.__dict__.update(
            _java_name=java_name,
            __getattr__=lambda each: member(find_java, java_name, each),
            __dir__=lambda: find_java()._members_of(java_name),
        )

    def __setattr__(self, name: str, value: Any) -> None:
        """Import binds a module that it has loaded in its package; classes are looked up each time."""
        if not isinstance(value, ClassModule):
            super().__setattr__(name, value)

    def __call__(self, *_: Any) -> Any:
        name = self._java_name
        raise TypeError(f"{name} is taken for a package; a class whose name begins so: java.type({name!r})")

    def __repr__(self) -> str:
        return f"<java package {self._java_name}>"


class ClassModule(Package):
    """What a class is while `from jpeer.java.util.Map import Entry` runs: its attributes are the class's."""

    def __init__(self, find_java: "Callable[[], Java]", java_name: str, name: str) -> None:
        super().__init__(find_java, java_name, name)
        self.__dict__.update(
            __getattr__=lambda each: getattr(find_java().type(java_name), each),
            __dir__=lambda: dir(find_java().type(java_name)),
        )

    def __repr__(self) -> str:
        return f"<java class {self._java_name} as a module>"


def member(find_java: "Callable[[], Java]", package: str, name: str) -> Any:
    """The class or the package of that name."""
    full = f"{package}.{name}" if package else name
    if name == "__all__":  # of `from jpeer.java.util import *`: its classes
        return [each for each in find_java()._members_of(package) if each[0].isupper()]
    if name.startswith("_"):
        raise AttributeError(f"the package {package} has no member {name!r}", name=name)
    return find_java().type(full) if name[0].isupper() else Package(find_java, full)


def _default() -> "Java":
    from . import connection  # which imports this module

    return connection.default()


def _find_default() -> "Java":
    try:
        return _default()
    except RuntimeError as why:
        raise AttributeError(str(why)) from None


class PackageFinder:
    """A finder and loader. It has its place after all other finders, so that the package's own modules go first. Classes
    are looked up anew each time, because the connection may be another one then. (Without the base classes of
    importlib.abc, whose import takes as long as that of half of this package.)"""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if last.startswith("_"):
            return None
        if parent != PARENT and not isinstance(sys.modules.get(parent), Package):
            return None
        try:
            java = _default()
            if last[0].isupper():
                java.type(name.removeprefix(PARENT + "."))
        except (NotFound, RuntimeError) as why:
            raise ImportError(str(why), name=name) from None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        java_name = spec.name.removeprefix(PARENT + ".")
        kind = ClassModule if java_name.rpartition(".")[2][0].isupper() else Package
        return kind(_find_default, java_name, spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    if not any(isinstance(each, PackageFinder) for each in sys.meta_path):
        sys.meta_path.append(PackageFinder())
