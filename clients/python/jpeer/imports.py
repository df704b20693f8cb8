"""`from jpeer.java.util import ArrayList`: packages of Java as modules, of the connection that was opened last."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from . import connection
from .exceptions import NotFound
from .packages import ClassModule, Package

PARENT = __name__.rpartition(".")[0]


def find_default() -> connection.Java:
    try:
        return connection.default()
    except RuntimeError as why:
        raise AttributeError(str(why)) from None


class PackageFinder(MetaPathFinder, Loader):
    """Comes behind all other finders, so that the package's own modules go first. Classes are looked up anew each time,
    because the connection may be another one then."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if last.startswith("_"):
            return None
        if parent != PARENT and not isinstance(sys.modules.get(parent), Package):
            return None
        try:
            java = connection.default()
            if last[0].isupper():
                java.type(name.removeprefix(PARENT + "."))
        except (NotFound, RuntimeError) as why:
            raise ImportError(str(why), name=name) from None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        java_name = spec.name.removeprefix(PARENT + ".")
        kind = ClassModule if java_name.rpartition(".")[2][0].isupper() else Package
        return kind(find_default, java_name, spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    if not any(isinstance(each, PackageFinder) for each in sys.meta_path):
        sys.meta_path.append(PackageFinder())
