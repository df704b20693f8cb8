"""Every example of docs/python.md, in its order, with what it prints."""

import doctest
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


class Documentation(unittest.TestCase):
    def test_examples(self):
        examples = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        failed, tried = runner.run(examples, out=said.append)
        self.assertGreater(tried, 50)
        self.assertEqual(failed, 0, "".join(said))
