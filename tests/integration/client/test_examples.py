"""The programs of docs/c-client.md: taken out of the page, built with the installed library, and run against a peer.

Those that call the library by foreign functions from Node and Ruby are run by tests/release/foreign.py.

usage: test_examples.py BUILD_FOLDER PAGE
"""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support.examples import foreign_examples
from support.installed import LIBRARY_COMPONENTS, Installed, examples
from support.peer import BINARY, Peer

BUILD = Path(sys.argv[1])
PAGE = Path(sys.argv[2])
SECONDS = 60
SESSION_LINES_MAX = 60
OUTPUTS = {
    "session.c": "result: 8\n",
    "loop.c": "sum: 500500\n",
    "chain.c": "[a, b]\n",
    "comparator.c": "[fig, pear, banana]\n",
    "trees.c": "2 elements, three\n",
    "session.cpp": """\
max: 5
result: 9
[fig, pear, banana]
first: a
java.lang.NumberFormatException: For input string: "seven"
""",
}


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, BUILD, *LIBRARY_COMPONENTS)
        cls.sources = examples(PAGE, "c|cpp")
        compilers = {".c": ("cc", "-std=c11"), ".cpp": (next(filter(shutil.which, ("g++", "clang++")), None), "-std=c++17")}
        cls.programs = {}
        for name, source in cls.sources.items():
            compiler, standard = compilers[Path(name).suffix]
            (cls.installed.root / name).write_text(source, encoding="utf-8")
            if compiler is not None:
                cls.programs[name] = cls.installed.build(name, "jpeer-client-jansson", standard, compiler=compiler)
        cls.foreign = cls.installed.root / "calculator.py"
        cls.foreign.write_text(foreign_examples(PAGE)["calculator.py"], encoding="utf-8")
        cls.peer = cls.enterClassContext(Peer())

    def output(self, name, argument):
        return self.installed.run(self.programs[name], argument)

    def test_each_program_of_the_page_is_run(self):
        self.assertEqual({*OUTPUTS, "launch.c"}, set(self.sources))

    def test_each_program_prints_what_it_should(self):
        self.assertLess(len(self.sources["session.c"].splitlines()), SESSION_LINES_MAX)
        # the program in C++ is not built if a compiler for C++ is missing
        for name in set(OUTPUTS) & set(self.programs):
            with self.subTest(name):
                self.assertEqual(OUTPUTS[name], self.output(name, self.peer.address("ws")))

    def test_a_client_that_cannot_connect_is_an_error(self):
        done = subprocess.run([self.programs["session.c"], "ws+unix:/nonexistent/peer"], capture_output=True, text=True,
                              timeout=SECONDS, check=False, env=self.installed.environment)
        self.assertEqual((1, "ws+unix:/nonexistent/peer: No such file or directory\n"), (done.returncode, done.stderr))

    def test_foreign_functions_from_python(self):
        self.assertEqual("result: 8\n", self.installed.run("/usr/bin/python3", self.foreign, self.peer.address("ws")))

    def test_launch(self):
        self.assertRegex(self.output("launch.c", BINARY), r"^Java \d+\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
