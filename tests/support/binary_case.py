"""What the tests of binary messages have in common."""

import unittest

from support.binary_client import BinaryClient, Raised
from support.peer import Peer


class BinaryCase(unittest.TestCase):
    """One peer for the class, and one client for the test."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.peer = Peer(*cls.options)

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def setUp(self):
        self.client = BinaryClient(self.peer)
        self.addCleanup(self.client.close)

    def raised_by(self, message):
        with self.assertRaises(Raised) as raised:
            self.client.run(message)
        return raised.exception

    def assert_raised(self, message, type_name, text):
        raised = self.raised_by(message)
        self.assertEqual(raised.type, type_name)
        self.assertIn(text, raised.text)
