"""Installs components of a build folder, for tests that build programs with them."""

import re
import subprocess
import tempfile
from pathlib import Path

from support.peer import environment

SECONDS = 300
LIBRARY_COMPONENTS = ("jsonrpc-runtime", "jsonrpc", "client-runtime", "client")


def run(*command, **options):
    """Runs a command that must succeed, and returns its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False,
                          **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


class Installed:
    """Installs components (all, if no component is named) into a prefix in `root`, a temporary folder of the
    test class."""

    def __init__(self, test_class, build, *components):
        self.root = Path(test_class.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-installed-")))
        self.prefix = self.root / "prefix"
        for words in [("--component", each) for each in components] or [()]:
            run("cmake", "--install", build, *words, "--prefix", self.prefix)
        self.packages = next(self.prefix.rglob("pkgconfig"), self.prefix)  # the program has none
        self.libraries = self.packages.parent
        self.environment = {**environment(), "PKG_CONFIG_PATH": str(self.packages), "LD_LIBRARY_PATH": str(self.libraries)}

    def run(self, *command, **options):
        return run(*command, env=self.environment, **options)

    def flags(self, package, *words):
        return self.run("pkg-config", *words, "--cflags", "--libs", package).split()

    def build(self, source, package, *words, compiler="cc"):
        """Compiles a source in `root`, and returns the path of the program."""
        program = self.root / f"{source}.program"
        run(compiler, *words, "-Wall", "-Wextra", "-Werror", self.root / source, "-o", program, *self.flags(package))
        return program

    def build_by_cmake(self, source, *words):
        """Builds the CMake project in the folder `source`, and returns the build folder."""
        run("cmake", "-G", "Ninja", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", *words)
        run("cmake", "--build", source / "build")
        return source / "build"

    def public_names(self, library, *options):
        """The names that a library defines for others."""
        lines = run("nm", *options, "--defined-only", self.libraries / library).splitlines()
        return [line.split()[-1] for line in lines if len(line.split()) == 3]


def examples(page, languages="c"):
    """The programs of a page, by their names."""
    return dict(re.findall(rf"<!-- example: (\S+) -->\n```(?:{languages})\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
