"""The examples of docs/python.md, of README and of the package's page on PyPI are run in order and print what the pages show; tools/demo, too."""

import builtins
import contextlib
import doctest
import io
import re
import subprocess
import sys
import unittest

import jpeer
from support import ROOT, SECONDS

PAGE = ROOT / "docs" / "python.md"
DEMO = ROOT / "demo"


class Documentation(unittest.TestCase):
    def test_the_examples_print_what_the_page_shows(self):
        examples = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        failed, tried = runner.run(examples, out=said.append)
        self.assertGreater(tried, 50)
        self.assertEqual(failed, 0, "".join(said))

    def test_the_examples_of_the_readmes_print_what_their_comments_say(self):
        for page in ("README.md", "clients/python/README.md"):
            with self.subTest(page=page):
                program = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)[1]
                expected = re.findall(r"print\(.*\)  # (.*)", program)
                self.assertEqual(len(expected), 2)
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(program, {})
                self.assertEqual(printed.getvalue().splitlines(), expected)

    def test_the_table_of_exceptions_names_their_bases(self):
        """For a row "`jpeer.X`, a `Y`", the class X exists and is a subclass of Y."""
        text = PAGE.read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`[\w.]+`[^|]*) \|", text[text.index("| exception | when |"):].partition("\n\n")[0], re.M)
        self.assertGreater(len(rows), 5)
        for row in rows:
            with self.subTest(row=row):
                name, *base = re.findall(r"`([\w.]+)`", row)
                for each in [name] if base and name.startswith("jpeer.") else [name, *base]:
                    self.assertTrue(issubclass(self.find(each), BaseException))
                if base and name.startswith("jpeer."):
                    self.assertTrue(issubclass(self.find(name), self.find(base[0])))

    @staticmethod
    def find(name):
        return getattr(jpeer, name.removeprefix("jpeer.")) if name.startswith("jpeer.") else getattr(builtins, name)



class Demo(unittest.TestCase):
    """The program that tools/demo runs after the build."""

    @classmethod
    def setUpClass(cls):
        h2 = re.search(r"com\.h2database:h2:[\d.]+", (ROOT / "tools/demo").read_text(encoding="utf-8"))[0]
        cls.jar = subprocess.run([ROOT / "tools/fetch-jar", h2], check=True, stdout=subprocess.PIPE, text=True,
                                 timeout=4 * SECONDS).stdout.strip()

    def shown(self, *options):
        """The lines of the program and its output, and the lines of its messages."""
        done = subprocess.run([sys.executable, DEMO / "show.py", *options, self.jar], timeout=SECONDS, capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        program, _, messages = done.stdout.partition("\nThe same program over a WebSocket, ")
        return program.splitlines(), messages.splitlines()[2:]

    def test_the_program_is_shown_with_what_it_prints(self):
        lines = (DEMO / "h2.py").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 40)
        program, messages = self.shown()
        said = [line for line in program if line.removeprefix(">>> ").removeprefix("... ") not in lines]
        self.assertEqual(len(program), len(lines) + len(said))
        self.assertEqual(said, [
            "[('Earth', 1), ('Mars', 2), ('Sätürn 🪐', 146)]",
            '42S02 Table "NOWHERE" not found; SQL statement:',
            "[Sätürn 🪐, Earth, Mars]",
            "RPC access denied: java.lang.System via WEBSOCKET_RPC",
        ])  # fmt: skip
        self.assertIn('"method":"getConnection","args":["jdbc:h2:mem:demo"]', messages[-2])
        self.assertRegex(messages[-1], '^<-- .*"type":"org.h2.jdbc.JdbcConnection","null":false,"ref":')

    def test_all_messages_are_shown(self):
        messages = self.shown("--wire")[1]
        self.assertEqual({line[:5] for line in messages}, {"--> {", "<-- {"})
        for part in ('"method":"executeQuery"', '"throwable_type":"org.h2.jdbc.JdbcSQLSyntaxErrorException"',
                     '"args":[{"ref":{"callback":1}', '"interface":"java.util.Comparator","method":"compare"',
                     "RPC access denied: java.lang.System"):  # fmt: skip
            self.assertTrue(any(part in line for line in messages), part)
