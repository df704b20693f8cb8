"""The installed files are hardened. The tests read the ELF files, because a compiler or linker may have ignored a flag.

usage: test_hardening.py READELF --program FILE --library FILE... --archive FILE
"""

import argparse
import subprocess
import unittest


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("readelf")
    parser.add_argument("--program")
    parser.add_argument("--library", nargs="+")
    parser.add_argument("--archive")
    return parser.parse_args()


FILES = arguments()


def readelf(option, file):
    run = subprocess.run([FILES.readelf, "--wide", option, file], stdout=subprocess.PIPE, check=True, text=True,
                         env={"LC_ALL": "C"}, timeout=60)
    return run.stdout


class Hardening(unittest.TestCase):
    LINKED = [FILES.program, *FILES.library]

    def check(self, files, option, *patterns, absent=()):
        for file in files:
            with self.subTest(file=file):
                text = readelf(option, file)
                for pattern in patterns:
                    self.assertRegex(text, pattern)
                for pattern in absent:
                    self.assertNotRegex(text, pattern)

    def test_the_program_is_position_independent(self):
        self.check([FILES.program], "--file-header", r"DYN \(Position-Independent Executable file\)")

    def test_relocations_are_read_only_and_bound_at_the_start(self):
        self.check(self.LINKED, "--segments", "GNU_RELRO")
        self.check(self.LINKED, "--dynamic", r"\(FLAGS_1\) +Flags:.*\bNOW\b", absent=["TEXTREL"])

    def test_no_memory_is_both_written_and_run(self):
        self.check(self.LINKED, "--segments", r"GNU_STACK .* RW +0x", absent=[r"(LOAD|GNU_STACK) .* RWE +0x"])

    def test_stacks_have_a_canary(self):
        self.check([*self.LINKED, FILES.archive], "--symbols", r" UND __stack_chk_fail\b")

    def test_sizes_are_checked(self):
        self.check([FILES.program, FILES.library[0], FILES.archive], "--symbols", r" UND __(?!stack_)\w+_chk\b")

    def test_indirect_branches_land_where_they_may(self):
        """Debian's start files lack this mark, so linked files lack it, too. For this reason only object files
        are checked."""
        if "X86-64" not in readelf("--file-header", FILES.program):
            self.skipTest("x86 alone has these marks")
        self.check([FILES.archive], "--notes", "x86 feature: IBT, SHSTK")


if __name__ == "__main__":
    unittest.main(argv=["test_hardening"])
