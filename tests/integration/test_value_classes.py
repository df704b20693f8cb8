"""The rows of native/op/value_classes.json: a wrong one stops the build with its name, and the page shows them."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/value-classes"
ROWS = json.loads((ROOT / "native/op/value_classes.json").read_text(encoding="utf-8"))
YEAR = {"name": "java.time.Year", "make": "parse", "by": "parse", "from": "java.lang.CharSequence", "cost": {"text": 5},
        "text": "year", "schema": "text", "example": "2024"}
DATE = {**YEAR, "name": "java.time.LocalDate", "python": {"type": "datetime.date", "read": "date", "write": "iso"}}


def changed(row, **changes):
    """None takes a key out."""
    return {key: value for key, value in {**row, **changes}.items() if value is not None}


class Rows(unittest.TestCase):
    def run_tool(self, rows, option):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.json")
            path.write_text(rows if isinstance(rows, str) else json.dumps(rows), encoding="utf-8")
            done = subprocess.run([TOOL, "--rows", path, option, Path(folder, "made")], capture_output=True, text=True,
                                  timeout=60, check=False)
            return done.returncode, done.stderr

    def test_the_page_shows_the_rows(self):
        done = subprocess.run([TOOL, "--check"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_rows_are_taken(self):
        for option in ("--c", "--python"):
            self.assertEqual(self.run_tool(ROWS, option), (0, ""))

    def test_a_wrong_row_is_named(self):
        for rows, text in [
            ("[", "Expecting"),
            ([5], "row 1"),
            ([{"make": "natural"}], "row 1"),
            ([{"name": "com.example.Money"}], "row 1"),
            ([YEAR, YEAR], "java.time.Year: it is there twice"),
            ([YEAR, DATE], "java.time.LocalDate: it is behind java.time.Year"),
            ([changed(YEAR, colour="red")], "java.time.Year: there is no 'colour'"),
            ([changed(YEAR, make="parsed")], "java.time.Year: make: there is no 'parsed'"),
            ([changed(YEAR, by=None)], "java.time.Year: 'parse' needs 'by'"),
            ([changed(YEAR, make="construct")], "java.time.Year: 'construct' does not take 'by'"),
            ([changed(YEAR, text="years")], "java.time.Year: text: there is no 'years'"),
            ([changed(YEAR, schema="year")], "java.time.Year: schema: there is no 'year'"),
            ([changed(YEAR, cost=None)], "java.time.Year: the costs are none, not text"),
            ([changed(YEAR, cost={"text": 0})], "java.time.Year: a cost"),
            ([changed(YEAR, numbers="all")], "java.time.Year: the costs are text, not text, integer, fraction"),
            ([changed(YEAR, example=None)], "java.time.Year: an example"),
            ([changed(YEAR, rule="none")], "java.time.Year: a class that is made"),
            ([{"name": "java.lang.Enum", "rule": "all"}], "java.lang.Enum: rule: there is no 'all'"),
        ]:
            with self.subTest(text):
                status, said = self.run_tool(rows, "--c")
                self.assertEqual(status, 1)
                self.assertIn(text, said)

    def test_a_converter_that_python_has_not_is_named(self):
        for python, text in [
            ({"type": "datetime.date", "read": "year"}, "java.time.LocalDate: python: there is no 'year' to read"),
            ({"type": "datetime.date", "write": "year"}, "java.time.LocalDate: python: there is no 'year' to write"),
            ({"type": "datetime.date", "show": "iso"}, "java.time.LocalDate: python: there is no 'iso' to show"),
            ({"read": "date"}, "java.time.LocalDate: python has no type"),
        ]:
            with self.subTest(text):
                status, said = self.run_tool([changed(DATE, python=python)], "--python")
                self.assertEqual(status, 1)
                self.assertIn(text, said)

    def test_a_type_of_two_classes_needs_a_function_that_chooses(self):
        two = [DATE, changed(DATE, name="java.time.LocalDates")]
        status, said = self.run_tool(two, "--python")
        self.assertEqual(status, 1)
        self.assertIn("java.time.LocalDates: python: datetime.date becomes java.time.LocalDate, too", said)
