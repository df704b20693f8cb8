"""Values that go as what the parameter is: where the peer refuses one form, the next one is tried."""

import array
import select
import unittest

import jpeer
from jpeer._native import Forms, Typed
from support import SECONDS, launch

java = None


def setUpModule():
    global java
    java = launch()


def tearDownModule():
    java.close()


class Order(unittest.TestCase):
    def setUp(self):
        self.asked = []

    def form(self, value):
        """A form that tells when it is made."""

        def make():
            self.asked.append(value)
            return value

        return make

    def forms(self, *values):
        return Forms(*map(self.form, values))

    def test_the_first_that_is_taken(self):
        self.assertEqual(java.java.lang.Integer.parseInt(self.forms("5", "6")), 5)
        self.assertEqual(java.java.lang.Integer.parseInt(self.forms([1], {}, "7", "8")), 7)
        self.assertEqual(self.asked, ["5", [1], {}, "7"])

    def test_none_is_taken(self):
        with self.assertRaisesRegex(TypeError, r"parseInt\(java.util.List\)"):
            java.java.lang.Integer.parseInt(self.forms([1], {}))
        self.assertEqual(self.asked, [[1], {}])

    def test_java_has_run(self):
        with self.assertRaises(java.java.lang.NumberFormatException):
            java.java.lang.Integer.parseInt(self.forms("x", "5"))
        self.assertEqual(self.asked, ["x"])

    def test_a_form_that_cannot_be_made(self):
        with self.assertRaisesRegex(TypeError, r"parseInt\(java.util.List\)"):
            java.java.lang.Integer.parseInt(Forms([1], lambda: 1 // 0))

    def test_several_values(self):
        forms = Forms([1], 5)
        self.assertEqual(java.java.lang.Math.addExact(forms, forms), 10)
        self.assertEqual(java.java.lang.Math.addExact(forms, Forms([], [], 6)), 11)

    def test_fields_constructors_and_receivers(self):
        point = java.java.awt.Point(Forms([1], 3), 4)
        point.x = Forms([1], 7)
        self.assertEqual((point.x, point.y), (7, 4))
        self.assertEqual(java.java.lang.String.length(Forms(Typed("java.util.List", []), "text")), 4)

    def test_without_forms(self):
        with self.assertRaises(TypeError):
            Forms()


class InALoop(unittest.TestCase):
    def send(self, *step):
        connection, found = java._connection, []
        connection.send(step, SECONDS, lambda *each: found.append(each))
        poll = select.poll()
        poll.register(connection.descriptor(), select.POLLIN)
        while not found:
            self.assertTrue(poll.poll(SECONDS * 1000))
            connection.process()
        return found[0]

    def test_other_forms(self):
        made, error = self.send("new", "java.util.ArrayList", (array.array("i", [1, 2]),))
        self.assertEqual((made, error), ([1, 2], None))

    def test_none_is_taken(self):
        value, error = self.send("call", "java.lang.Integer", "parseInt", None, (Forms([1], {}, lambda: 1 // 0),))
        self.assertIsNone(value)
        self.assertIsInstance(error, jpeer.BadArgument)
        self.assertIn("parseInt(java.util.List)", str(error))


if __name__ == "__main__":
    unittest.main()
