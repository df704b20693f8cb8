"""An invalid row of native/op/value_classes.json stops the build with its name, and docs/values.md shows the rows."""

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
    """Returns the row with changed keys. The value None removes a key."""
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

    def test_the_rows_are_valid(self):
        for option in ("--c", "--python"):
            self.assertEqual(self.run_tool(ROWS, option), (0, ""))

    def test_an_invalid_row_is_named(self):
        for rows, text in [
            ("[", "Expecting"),
            ([5], "row 1"),
            ([{"make": "natural"}], "row 1"),
            ([{"name": "com.example.Money"}], "row 1"),
            ([YEAR, YEAR], "java.time.Year: this name has two rows"),
            ([YEAR, DATE], "java.time.LocalDate: its row must be before the row of java.time.Year"),
            ([changed(YEAR, colour="red")], "java.time.Year: unknown key 'colour'"),
            ([changed(YEAR, make="parsed")], "java.time.Year: make: unknown word 'parsed'"),
            ([changed(YEAR, by=None)], "java.time.Year: make 'parse' needs the parameter 'by'"),
            ([changed(YEAR, make="construct")], "java.time.Year: make 'construct' has no parameter 'by'"),
            ([changed(YEAR, text="years")], "java.time.Year: text: unknown word 'years'"),
            ([changed(YEAR, schema="year")], "java.time.Year: schema: unknown word 'year'"),
            ([changed(YEAR, cost=None)], "java.time.Year: the row has costs for none, and needs costs for text"),
            ([changed(YEAR, cost={"text": 0})], "java.time.Year: cost: not an integer above 0"),
            ([changed(YEAR, cost={"text": True})], "java.time.Year: cost: not an integer above 0"),
            ([changed(YEAR, cost=[5])], "java.time.Year: cost: [5] is not of the type dict"),
            ([changed(YEAR, numbers="all")],
             "java.time.Year: the row has costs for text, and needs costs for text, integer, fraction"),
            ([changed(YEAR, example=None)], "java.time.Year: example"),
            ([changed(YEAR, rule="none")], "java.time.Year: rule"),
            ([{"name": "java.lang.Enum", "rule": "all"}], "java.lang.Enum: rule: unknown word 'all'"),
            ([changed(YEAR, make=["parse"])], "java.time.Year: make: ['parse'] is not of the type str"),
            ([changed(YEAR, since="8")], "java.time.Year: since: '8' is not of the type int"),
            ({"java.time.Year": YEAR}, "rows.json: not a JSON array"),
            ('[{"name": "java.time.Year", "name": "java.time.Month"}]', "rows.json: 'name' is twice in one object"),
            ([{"name": "java.util.List", "make": "list", "by": "java.util.ArrayLists"}],
             "java.util.List: by: java.util.ArrayLists has no row with make 'own-list'"),
            ([{"name": "java.util.HashMap", "make": "own-map"},
              {"name": "java.util.List", "make": "list", "by": "java.util.HashMap"}],
             "java.util.List: by: java.util.HashMap has no row with make 'own-list'"),
        ]:
            with self.subTest(text):
                status, said = self.run_tool(rows, "--c")
                self.assertEqual(status, 1)
                self.assertIn(text, said)

    def test_an_unknown_converter_of_python_is_named(self):
        for python, said_of_it in [
            ({"type": "datetime.date", "read": "year"}, "unknown converter 'year' for 'read'"),
            ({"type": "datetime.date", "write": "year"}, "unknown converter 'year' for 'write'"),
            ({"type": "datetime.date", "show": "iso"}, "unknown converter 'iso' for 'show'"),
            ({"type": "datetime.date", "read": ["date"]}, "unknown converter ['date'] for 'read'"),
            ({"read": "date"}, "type is missing"),
            ({"type": None}, "type is missing"),
        ]:
            with self.subTest(said_of_it):
                status, said = self.run_tool([changed(DATE, python=python)], "--python")
                self.assertEqual(status, 1)
                self.assertIn(f"java.time.LocalDate: python: {said_of_it}", said)

    def test_a_type_of_two_classes_needs_a_function_that_chooses(self):
        two = [DATE, changed(DATE, name="java.time.LocalDates")]
        status, said = self.run_tool(two, "--python")
        self.assertEqual(status, 1)
        self.assertIn("java.time.LocalDates: python: datetime.date also becomes java.time.LocalDate", said)
