"""jpeer/client.hpp and the C headers in C++: built with the installed library by each compiler there is, and run.

usage: test_cxx.py BUILD_FOLDER
"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.peer import BINARY, Peer, complaints_in, environment

BUILD = Path(sys.argv[1])
SCENARIOS = Path(__file__).with_name("cxx_scenarios.cpp")
SECONDS = 300
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
DANGLES = """\
#include <jpeer/request.h>
struct jp_request bad = jp_build_class_method_call("java.lang.Math", "abs", JP_ARGUMENTS(jp_int(3)));
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False,
                          **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def links_with_sanitizers(compiler, folder):
    """Debian's clang has their library in a package of its own."""
    program = folder / "empty.cpp"
    program.write_text("int main() { return 0; }\n", encoding="utf-8")
    return subprocess.run([compiler, "-fsanitize=address,undefined", program, "-o", folder / "empty"], check=False,
                          capture_output=True, timeout=SECONDS).returncode == 0


class Cxx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-cxx-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        for component in ("jsonrpc", "client"):
            run("cmake", "--install", BUILD, "--component", component, "--prefix", cls.root / "prefix")
        packages = next((cls.root / "prefix").rglob("pkgconfig"))
        cls.environment = {**environment(), "PKG_CONFIG_PATH": str(packages), "LD_LIBRARY_PATH": str(packages.parent)}
        cls.environment["ASAN_OPTIONS"] = "detect_leaks=1"
        cls.flags = run("pkg-config", "--cflags", "--libs", "jpeer-client", env=cls.environment).split()
        cls.peer = cls.enterClassContext(Peer())

    def build_and_run(self, compiler, *flags):
        program = self.root / f"{compiler}-{len(flags)}"
        run(compiler, "-std=c++17", *WARNINGS, *flags, SCENARIOS, "-o", program, *self.flags, "-pthread")
        done = subprocess.run([program, self.peer.address("ws"), BINARY], capture_output=True, text=True,
                              timeout=SECONDS, check=False, env=self.environment)
        self.assertEqual((0, []), (done.returncode, complaints_in(done.stderr)), done.stderr)

    def test_optimised(self):
        for compiler in COMPILERS:
            with self.subTest(compiler):
                self.build_and_run(compiler, "-O2")

    def test_under_sanitizers(self):
        checked = [compiler for compiler in COMPILERS if links_with_sanitizers(compiler, self.root)]
        self.assertTrue(checked, "no compiler has the sanitizers")
        for compiler in checked:
            with self.subTest(compiler):
                self.build_and_run(compiler, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

    def test_a_request_that_would_dangle_does_not_compile(self):
        source = self.root / "dangles.cpp"
        source.write_text(DANGLES, encoding="utf-8")
        for compiler in COMPILERS:
            with self.subTest(compiler):
                done = subprocess.run([compiler, "-std=c++17", "-c", source, "-o", self.root / "dangles.o", *self.flags],
                                      capture_output=True, text=True, timeout=SECONDS, check=False)
                self.assertNotEqual(0, done.returncode)
                self.assertIn("deleted function", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
