"""python -m jpeer stubs."""

import ast
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jpeer
from support import SECONDS

PROGRAM = """
import datetime
from jpeer.java.lang import Integer, NumberFormatException, Throwable
from jpeer.java.time import Duration, LocalDate
from jpeer.java.util import ArrayList, HashMap, Optional, OptionalInt
xs = ArrayList([1, 2])
reveal_type(xs.size())
reveal_type(xs.isEmpty())
reveal_type(xs.iterator())
reveal_type(HashMap().get("a", 5))
for x in xs:
    pass
try:
    Integer.parseInt("x")
except NumberFormatException as error:
    print(error.getMessage(), error.java_frames)
    raise Throwable("x") from error
print(Optional.of("x").get().upper(), LocalDate.of(2024, 1, 1).isoformat())
print(LocalDate.plusDays(datetime.date(2024, 2, 29), 1).isoformat())
length: datetime.timedelta = Duration.ofSeconds(5)
reveal_type(OptionalInt.of(5).getAsInt())
xs.nothing()
"""

# public class Plain { public static int x; }, without a constructor.
PLAIN = bytes.fromhex(
    "cafebabe 0000 003d 0007"
    f"01 0005 {b'Plain'.hex()} 07 0001 01 0010 {b'java/lang/Object'.hex()} 07 0003 01 0001 {b'x'.hex()} 01 0001 {b'I'.hex()}"
    "0021 0002 0004 0000 0001 0009 0005 0006 0000 0000 0000"
)


class Stubs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.done = cls.run_stubs("java.util.*", "java.lang.*", "java.time.*", "java.awt.**", "-o", cls.folder.name)

    @staticmethod
    def run_stubs(*arguments):
        command = [sys.executable, "-m", "jpeer", "stubs", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)

    def read(self, package):
        return Path(self.folder.name, "jpeer", *package.split("."), "__init__.pyi").read_text(encoding="utf-8")

    def test_stubs_have_the_types_of_members(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        text = self.read("java.util")
        for line in (
            "class ArrayList(jpeer.java.util.AbstractList):",
            "class LinkedList(jpeer.java.util.AbstractSequentialList, jpeer.java.util.Deque):",
            "    class Entry(jpeer.collections.EntryMixin, jpeer.JavaObject):",
            "    def size(self) -> builtins.int: ...", "    def iterator(self) -> jpeer.java.util.Iterator: ...",
            "    def nextInt(self, origin: builtins.int, bound: builtins.int, /) -> builtins.int: ...",
            "class NoSuchElementException(jpeer.java.lang.RuntimeException):",
        ):
            self.assertIn(line, text.splitlines())
        self.assertIn("class Exception(jpeer.java.lang.Throwable):", self.read("java.lang"))
        self.assertIn("class Throwable(jpeer.JavaException):", self.read("java.lang"))
        with tempfile.TemporaryDirectory() as folder:
            self.run_stubs("java.util.NoSuchElementException", "-o", folder)
            text = Path(folder, "jpeer/java/util/__init__.pyi").read_text(encoding="utf-8")
        self.assertIn("class NoSuchElementException(jpeer.JavaException):", text)

    def test_the_unnamed_package_has_no_stubs(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "Plain.class").write_bytes(PLAIN)
            done = self.run_stubs("Plain", "java.util.UUID", "-o", f"{folder}/stubs", "-cp", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertFalse(Path(folder, "stubs", "jpeer", "__init__.pyi").exists())
            self.assertTrue(Path(folder, "stubs", "jpeer", "java", "util", "__init__.pyi").exists())

    def test_stubs_are_valid_python(self):
        for file in Path(self.folder.name).rglob("*.pyi"):
            ast.parse(file.read_text(encoding="utf-8"), str(file))

    def test_a_pattern_without_a_match_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_stubs("no.such.**", "a.B", "-o", folder)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "python -m jpeer stubs: no public class is called no.such.** or a.B\n")

    def test_errors_are_one_line(self):
        with tempfile.NamedTemporaryFile() as file:
            for arguments, words in (
                (["-o", file.name], "Not a directory"),
                (["-o", "unused", "--url", "ws+unix:/no/such/socket"], "No such file or directory"),
            ):
                done = self.run_stubs("java.util.List", *arguments)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, f"^python -m jpeer stubs: .*{words}.*\n$")

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "no mypy")
    def test_mypy_accepts_the_package(self):
        package = os.path.dirname(os.path.dirname(os.path.abspath(jpeer.__file__)))
        path = "" if package.endswith("site-packages") else package
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, "-p", "jpeer"], cwd=folder, text=True,
                                  env={**os.environ, "MYPYPATH": path}, capture_output=True, timeout=4 * SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "no mypy")
    def test_mypy_reads_the_stubs(self):
        package = os.path.dirname(os.path.dirname(os.path.abspath(jpeer.__file__)))
        path = [self.folder.name] if package.endswith("site-packages") else [self.folder.name, package]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "program.py").write_text(PROGRAM, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, "program.py"],
                env={**os.environ, "MYPYPATH": os.pathsep.join(path)}, cwd=folder, capture_output=True, text=True,
                timeout=SECONDS, check=False,
            )
        notes = [line.partition(": ")[2] for line in done.stdout.splitlines()]
        for note in ("int", "bool", "jpeer.java.util.Iterator", "Any"):
            self.assertRegex(done.stdout, f'Revealed type is "(builtins.)?{note}')
        errors = [line for line in notes if line.startswith("error")]
        self.assertEqual(len(errors), 1, done.stdout)
        self.assertIn('"ArrayList" has no attribute "nothing"', errors[0])
