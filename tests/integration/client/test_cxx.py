"""jpeer/client.hpp and the C headers in C++: built with the installed library by each available compiler, and run.

With --sanitized the program is built with AddressSanitizer instead, and linked with the library of the build folder,
which has to be instrumented, so that reads of freed memory inside the library are also found.

usage: test_cxx.py BUILD_FOLDER [--sanitized]
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.installed import LIBRARY_COMPONENTS, run
from support.installed import Installed as Prefix
from support.peer import BINARY, ROOT, Peer, complaints_in, environment

BUILD = Path(sys.argv[1])
SANITIZED = sys.argv[2:] == ["--sanitized"]
SCENARIOS = Path(__file__).with_name("cxx_scenarios.cpp")
SECONDS = 300
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wold-style-cast", "-Werror"]
# Each line that ends with "// dangles" would leave a reference to an ended object, and must not compile; the others
# must.
DANGLES = """\
#include <jpeer/client.hpp>
struct jp_request bad = jp_build_class_method_call("java.lang.Math", "abs", JP_ARGUMENTS(jp_int(3))); // dangles
jp_argument list = jp_list(nullptr, JP_ARGUMENTS(jp_int(3))); // dangles
const auto items = JP_ARGUMENTS(jp_int(3));
jp_argument kept = jp_list(nullptr, items);
void use(jpeer::client &java, const jpeer::incoming &call, jpeer::chain &chain, jpeer::answer &answer)
{
  auto text = java.call("a", "b").text(); // dangles
  auto json = java.call("a", "b").json(); // dangles
  auto type = java.call("a", "b").type(); // dangles
  auto view = java.call("a", "b").view(); // dangles
  auto whole = java.call("a", "b").as<jpeer::answer_view>(); // dangles
  jpeer::answer_view sliced = java.call("a", "b"); // dangles
  auto &steps = java.chain().create("a", "b"); // dangles
  auto result = java.chain()["a"]; // dangles
  auto &client = jpeer::launch().client(); // dangles
  auto copied = call; // dangles
  jp_callback_answer_later(call.raw()); // dangles
  jpeer::value(U'a'); // dangles
  auto point = answer.as<char32_t>(); // dangles
  answer.text(), answer.json(), answer.type(), answer.view().text(), java.call("a", "b").as<std::string>();
  call[0].text(), call[0].json(), call[0].type(), chain["a"].text(), chain["a"].json(), chain["a"].type();
}
"""


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="jpeer-cxx-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        cls.environment = environment()
        cls.peer = cls.enterClassContext(Peer())

    def build(self, compiler, *flags):
        program = self.root / f"{compiler}-program"
        run(compiler, "-std=c++17", *WARNINGS, SCENARIOS, "-o", program, *flags, "-pthread")
        return program

    def play(self, *command, env):
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=env)
        self.assertEqual((0, []), (done.returncode, complaints_in(done.stderr)), done.stderr)


@unittest.skipIf(SANITIZED, "the library is not one to install")
class Installed(Programs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prefix = Prefix(cls, BUILD, *LIBRARY_COMPONENTS)
        cls.environment, cls.flags = prefix.environment, prefix.flags("jpeer-client")

    def test_an_optimised_program_runs(self):
        with ThreadPoolExecutor() as builds:
            programs = list(builds.map(lambda compiler: self.build(compiler, "-O2", *self.flags), COMPILERS))
        for program in programs:
            with self.subTest(program.name):
                self.play(program, self.peer.address("ws"), env=self.environment)
                self.play(program, "launch", BINARY, env=self.environment)

    def test_what_would_dangle_does_not_compile(self):
        source = self.root / "dangles.cpp"
        source.write_text(DANGLES, encoding="utf-8")
        expected = {at for at, line in enumerate(DANGLES.splitlines(), 1) if line.endswith("// dangles")}
        for compiler in COMPILERS:
            with self.subTest(compiler):
                done = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-ferror-limit=0" if compiler == "clang++"
                                       else "-fmax-errors=0", source, *self.flags],
                                      capture_output=True, text=True, timeout=SECONDS, check=False)
                errors = re.findall(r"^\S*dangles\.cpp:(\d+):\d+: +(?:error|required from here|note: in instantiation)",
                                    done.stderr, re.MULTILINE)
                self.assertEqual(expected, {int(line) for line in errors}, done.stderr)


@unittest.skipUnless(SANITIZED, "the library is not instrumented")
class Sanitized(Programs):
    def test_under_address_sanitizer(self):
        flags = [f"-I{ROOT}/native/include"]
        for library in ("client", "jsonrpc"):
            folder = BUILD.absolute() / "native" / library
            flags += [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-ljpeer-{library}"]
        # Without optimisation: building takes half the time, and the compiler removes no read.
        program = self.build("g++", "-O0", "-g", "-fsanitize=address", *flags)
        self.play(program, self.peer.address("ws"), env={**self.environment, "ASAN_OPTIONS": "detect_leaks=1"})
        self.play(program, "launch", BINARY, env=self.environment)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
