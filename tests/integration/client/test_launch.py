"""jp_launch: peers as children of a program in C.

usage: test_launch.py CLIENT_LAUNCHES
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support.peer import BINARY, complaints_in, environment, eventually, has_ended, kill_after

PROGRAM = sys.argv[1]
SECONDS = 120


class Launch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-launch-")
        self.addCleanup(self.folder.cleanup)
        self.environment = environment(XDG_RUNTIME_DIR=self.folder.name)

    def run_scenario(self, name, peer=BINARY):
        done = subprocess.run([PROGRAM, peer, name], env=self.environment, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual([], complaints_in(done.stderr))
        # The folder of `jpeer ps` stays; a peer that was killed leaves its file there, and the next `jpeer ps` ignores it.
        left = {path for path in Path(self.folder.name).rglob("*") if path.relative_to(self.folder.name).parts[0] != "jpeer"}
        self.assertEqual(set(), left)
        if name != "kills":
            self.assertEqual([], list(Path(self.folder.name, "jpeer").glob("*")))
        return done.stderr

    def test_serves_and_stops(self):
        self.assertNotIn("is gone", self.run_scenario("serves"))

    def test_scenarios(self):
        for name in ("output", "input", "policy", "exits", "kills", "fails"):
            with self.subTest(name):
                self.run_scenario(name)

    def test_leaves_the_policy_to_the_environment(self):
        self.environment["JPEER_RPC_ALLOW"] = "java.lang.Math"
        done = subprocess.run([PROGRAM, BINARY, "serves"], env=self.environment, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        self.assertIn("get_property(peer, NULL) == JP_CLIENT_OK", done.stderr)

    def test_removes_the_lock_of_a_peer_that_ended_while_it_bound_its_socket(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-launch-") as folder:
            peer = Path(folder, "peer")
            peer.write_text('#!/bin/sh\nfor word; do case $word in unix:*) : > "${word#unix:}.lock"; esac; done\n')
            peer.chmod(0o700)
            self.run_scenario("binds", str(peer))

    def test_the_peer_ends_with_a_program_that_is_killed(self):
        with subprocess.Popen([PROGRAM, BINARY, "waits"], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as program:
            with kill_after(program):
                pid = int(program.stdout.readline())
            program.kill()
        eventually(lambda: has_ended(pid), "the peer ends")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
