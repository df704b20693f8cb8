"""Every example of docs/python.md, in its order, with what it prints."""

import builtins
import doctest
import re
import unittest
from pathlib import Path

import jpeer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


class Documentation(unittest.TestCase):
    def test_examples(self):
        examples = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        failed, tried = runner.run(examples, out=said.append)
        self.assertGreater(tried, 50)
        self.assertEqual(failed, 0, "".join(said))

    def test_the_table_of_exceptions(self):
        """`jpeer.X`, a `Y`: the class exists, and is one."""
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
