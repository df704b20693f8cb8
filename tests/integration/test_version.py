"""The version has one place, the root's CMakeLists.txt. What others see of it agrees: the program, the Python package, the
packages of the libraries, the first heading of CHANGELOG.md.
"""

import re
import subprocess
import sys
import unittest

from support.peer import BUILD, ROOT, run_to_end

VERSION = re.search(r"^project\(jpeer VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)[1]

CACHE = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.M))


class Version(unittest.TestCase):
    def test_the_program_names_version_commit_and_build_type(self):
        done = run_to_end("--version")
        self.assertEqual("", done.stderr)
        found = re.fullmatch(rf"jpeer {re.escape(VERSION)} \(commit (\w+)(?: with changes)?, (\w+)(?: with [\w,]+)?\)\n", done.stdout)
        self.assertIsNotNone(found, done.stdout)
        self.assertEqual(CACHE["CMAKE_BUILD_TYPE"], found[2])
        if (ROOT / ".git").exists():
            subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{found[1]}^{{commit}}"], check=True)

    def test_run_names_the_same_build_before_the_jvms_version(self):
        self.assertEqual(run_to_end("--version").stdout, run_to_end("run", "--version").stdout.splitlines(keepends=True)[0])

    def test_the_python_package(self):
        package = BUILD / "python"
        if not (package / "jpeer/_native.abi3.so").exists():
            self.skipTest("the Python package is not built")
        if CACHE["JPEER_SANITIZE"]:
            self.skipTest("this Python has no sanitizer")
        done = subprocess.run([sys.executable, "-c", "import jpeer; print(jpeer.__version__)"], env={"PYTHONPATH": str(package)},
                              stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        self.assertEqual(VERSION, done.stdout.strip())

    def test_the_packages_of_the_libraries(self):
        files = sorted(BUILD.glob("native/*/*.pc"))
        self.assertEqual(4, len(files))
        for file in files:
            self.assertIn(f"\nVersion: {VERSION}\n", file.read_text(encoding="utf-8"), file)

    def test_the_first_heading_of_the_changelog(self):
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        self.assertEqual(VERSION, re.search(r"^## (\S+)", text, re.M)[1])


if __name__ == "__main__":
    unittest.main()
