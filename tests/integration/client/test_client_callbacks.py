"""Java calls the client library, over each transport that can.

usage: test_client_callbacks.py CLIENT_CALLBACKS
"""

import subprocess
import sys
import unittest

from support.peer import Peer

PROGRAM = sys.argv[1]
SECONDS = 60


class Callbacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer(sockets=True)
        cls.urls = [cls.peer.address("ws"), cls.peer.address("ws+unix"), f"shm:{cls.peer.socket_path('ws+unix')}"]

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def run_scenario(self, name):
        for url in self.urls:
            with self.subTest(url=url):
                done = subprocess.run([PROGRAM, url, name], capture_output=True, text=True, timeout=SECONDS, check=False)
                self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_a_comparator_sorts(self):
        self.run_scenario("sort")

    def test_java_lets_go_of_what_it_has_not_any_more(self):
        self.run_scenario("released")

    def test_default_methods_run_in_java_or_here(self):
        self.run_scenario("default-methods")

    def test_listeners_hear_in_order(self):
        self.run_scenario("listeners")

    def test_recursion(self):
        self.run_scenario("recursion")

    def test_threads_of_java(self):
        self.run_scenario("pool")

    def test_exceptions(self):
        self.run_scenario("throws")

    def test_a_client_that_goes(self):
        self.run_scenario("vanish")

    def test_what_the_peer_refuses_it_lets_go_of(self):
        self.run_scenario("refused")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
