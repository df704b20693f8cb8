"""Java packages as modules. The attributes of a module are classes and packages. `from jpeer.java.util import
ArrayList` imports from the connection that was opened last.

A package has `__getattr__` and `__dir__` among its own names, as modules may: IPython completes attributes of such
modules, but not of objects whose class has a `__getattr__`.
"""

import contextlib
import keyword
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from .exceptions import NOT_FOUND, Denied, NotFound

if TYPE_CHECKING:
    from .connection import Java

PARENT = __name__.rpartition(".")[0]


class Package(ModuleType):
    """A Java package, or a name that is neither a class nor a package for the peer. Such a name is an error only when
    it is used, because a class loader may find the class later."""

    def __init__(self, find_java: "Callable[[], Java]", java_name: str, name: str = "") -> None:
        super().__init__(name or java_name)
        self.__dict__.update(
            _java_name=java_name,
            _find_java=find_java,
            __getattr__=lambda each: member(find_java, java_name, each, bool(name)),
            __dir__=lambda: find_java()._members_of(java_name),
        )

    def __setattr__(self, name: str, value: Any) -> None:
        """Ignores a loaded class module that `import` sets as an attribute of its package, because classes are looked
        up."""
        if not isinstance(value, ClassModule):
            super().__setattr__(name, value)

    def __call__(self, *_: Any) -> Any:
        self._java_type_error("called")

    def __iter__(self) -> NoReturn:
        self._java_type_error("iterated over")

    def _java_type_error(self, what: str) -> NoReturn:
        if self._find_java()._kind_of(self._java_name).is_package:
            raise TypeError(f"{self._java_name} is a Java package: it cannot be {what}")
        raise_unknown(self._find_java(), self._java_name)

    def __repr__(self) -> str:
        return f"<java package {self._java_name}>"


class ClassModule(Package):
    """A module that stands for a class during `from jpeer.java.util.Map import Entry`. Its attributes are those of the
    class."""

    def __init__(self, find_java: "Callable[[], Java]", java_name: str, name: str) -> None:
        super().__init__(find_java, java_name, name)
        self.__dict__.update(
            __getattr__=lambda each: getattr(find_java().type(java_name), each),
            __dir__=lambda: dir(find_java().type(java_name)),
        )

    def __repr__(self) -> str:
        return f"<java class {self._java_name} as a module>"


JDK = ("java", "javax")  # only the JDK has classes there, and their names begin with capital letters


class Kind(NamedTuple):
    """The peer's answer about a name. Both may be true."""

    is_package: bool
    is_class: bool


def member(find_java: "Callable[[], Java]", package: str, name: str, imports: bool = False) -> Any:
    """Returns the class or package of that name. If both exist, returns the class, as in Java (JLS 6.4.2). With
    `imports`, raises at once if neither exists in the peer."""
    if name == "__all__":  # the classes that `from jpeer.java.util import *` imports
        return [each for each in find_java()._members_of(package) if each[0].isupper()]
    if name.startswith("_"):
        raise AttributeError(f"the package {package} has no member {name!r}", name=name)
    java = find_java()
    full = java_name_of(java, package, name)
    if full.partition(".")[0] in JDK and not name[0].isupper():
        return Package(find_java, full)
    if name[0].isupper():
        try:
            return java.type(full)
        except NotFound:
            if not java._kind_of(full).is_package:
                raise
            return Package(find_java, full)
    kind = java._kind_of(full)
    if kind.is_class or not kind.is_package:
        with contextlib.suppress(NotFound, Denied):
            return java.type(full)
    if imports and not kind.is_package and not java._added_loaders:
        raise_unknown(java, full)
    return Package(find_java, full)


def raise_unknown(java: "Java", name: str) -> NoReturn:
    """Raises NotFound with names that are similar to the whole name or, if there are none, to the first part that is
    unknown."""
    suggestions: Sequence[str] = ()
    part = name
    while part and not suggestions and not java._kind_of(part).is_package:
        try:
            java.type(part)
        except NotFound as why:
            suggestions = why.suggestions
        part = part.rpartition(".")[0]
    near = f". Did you mean {' or '.join(suggestions)}?" if suggestions else ""
    made = NotFound(f"no Java class or package {name}{near}")
    made.code, made.suggestions = NOT_FOUND, suggestions
    raise made


def java_name_of(java: "Java", package: str, name: str) -> str:
    """Returns the Java name of an attribute: `lambda_` means `lambda`, unless Java has the name `lambda_`."""
    full = f"{package}.{name}" if package else name
    if name.endswith("_") and keyword.iskeyword(name[:-1]) and not any(java._kind_of(full)):
        return full[:-1]
    return full


def _default() -> "Java":
    from . import connection  # a cycle: connection imports this module

    return connection.default()


def _find_default() -> "Java":
    try:
        return _default()
    except RuntimeError as why:
        raise AttributeError(str(why)) from None


def _nested_name(java: "Java", outer: str, name: str) -> str:
    nested = getattr(java.type(outer), name)
    if not isinstance(nested, type):
        raise AttributeError(f"{outer}.{name} is not a class", name=name)
    return str(nested._java_name)  # type: ignore[attr-defined]


def _import(java: "Java", parent: ModuleType, package: str, name: str) -> tuple[type["Package"], str]:
    """Returns the kind of module to import, and its Java name. Raises NotFound if the peer knows neither a package nor
    a class."""
    if isinstance(parent, ClassModule):
        return ClassModule, _nested_name(java, package, name)
    found = member(lambda: java, package, name, True)
    return Package if isinstance(found, Package) else ClassModule, found._java_name


class PackageFinder:
    """Finder and loader of Java packages and classes, after all other finders, so that the modules of this package come
    first. Each import looks the class up again, because the connection may have changed. The base classes of
    importlib.abc are not used: importing them takes as long as half of this package."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if last.startswith("_"):
            return None
        package = "" if parent == PARENT else getattr(sys.modules.get(parent), "_java_name", None)
        if package is None or (parent != PARENT and not isinstance(sys.modules.get(parent), Package)):
            return None
        try:
            java = _default()
            found = _import(java, sys.modules[parent], package, last)
        except (AttributeError, Denied, RuntimeError) as why:
            raise ImportError(str(why), name=name) from None
        loader: Any = self
        spec = ModuleSpec(name, loader, is_package=True)
        spec.loader_state = found
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        kind, java_name = spec.loader_state
        made: ModuleType = kind(_find_default, java_name, spec.name)
        return made

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    if not any(isinstance(each, PackageFinder) for each in sys.meta_path):
        sys.meta_path.append(PackageFinder())
