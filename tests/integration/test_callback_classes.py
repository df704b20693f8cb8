"""The proxy classes of callbacks, which the JVM keeps: one for a set of interfaces, and no more than the limit."""

import itertools
import unittest

from support.callback_client import CallbackClient
from support.clients import RpcError, typed
from support.peer import Peer

CALLING = "fixtures.Calling"
# Of their own methods none have the same signature and another type.
INTERFACES = ("java.lang.Runnable", "java.util.Comparator", "java.util.concurrent.Callable", "java.util.function.Consumer",
              "java.util.function.Function", "java.util.function.IntPredicate", "java.util.function.LongConsumer")


class Classes(unittest.TestCase):
    def give_and_call(self, client, interfaces, **beside):
        return client.call(CALLING, "here", client.give(lambda call: "works", interfaces=list(interfaces), **beside))

    def name_of_class(self, client, interfaces, **beside):
        """The callback travels as the client's own: the class is asked of Java."""
        there = client.call("java.util.Objects", "requireNonNull", client.give(interfaces=list(interfaces), **beside))
        return client.call("java.lang.Class", "getName", on=client.call("java.lang.Object", "getClass", on=there))

    def test_their_order_makes_no_other_class(self):
        with Peer("--callback-classes-max", "2") as peer, CallbackClient(peer) as client:
            names = {self.name_of_class(client, each) for each in itertools.permutations(INTERFACES[:4])}
            self.assertEqual(len(names), 1, names)
            names.add(self.name_of_class(client, INTERFACES[:4], overrides=["reversed"]))
            self.assertEqual(len(names), 1, names)
            self.assertEqual(self.give_and_call(client, reversed(INTERFACES[:4])), "works")

    def test_no_more_than_the_limit(self):
        with Peer("--callback-classes-max", "2") as peer, CallbackClient(peer) as client, CallbackClient(peer) as other:
            self.assertEqual(self.give_and_call(client, INTERFACES[:3]), "works")
            self.assertEqual(self.give_and_call(other, INTERFACES[2:3]), "works")
            for each in (client, other):
                for _ in range(3):
                    with self.assertRaises(RpcError) as raised:
                        self.give_and_call(each, INTERFACES[1:4])
                    self.assertEqual(raised.exception.code, -32000)
                    self.assertIn("callback-classes-max", raised.exception.detail)
                self.assertEqual(self.give_and_call(each, INTERFACES[2::-1]), "works")
                self.assertEqual(each.call(CALLING, "here", each.give(lambda call: "works")), "works")

    def test_what_cannot_be_made_does_not_count(self):
        with Peer("--callback-classes-max", "1") as peer, CallbackClient(peer) as client:
            for _ in range(3):
                with self.assertRaises(RpcError) as raised:  # two results of get()
                    self.give_and_call(client, ("java.util.concurrent.Callable", "java.util.function.IntSupplier",
                                                "java.util.function.Supplier", "java.util.concurrent.Callable"))
                self.assertEqual(raised.exception.code, -32602)
            self.assertEqual(self.give_and_call(client, INTERFACES[2:3]), "works")

    def test_where_the_jvm_has_little_room_for_classes(self):
        """Callbacks of every order, and of sets up to the limit, leave other clients their calls."""
        with Peer("-XX:MaxMetaspaceSize=48m", "--callback-classes-max", "50") as peer, \
                CallbackClient(peer) as attacker, CallbackClient(peer) as other:
            orders = itertools.islice(itertools.permutations(INTERFACES), 1500)
            sets = (each for count in range(1, 8) for each in itertools.combinations(INTERFACES, count))
            refused = 0
            for interfaces in itertools.chain(orders, sets):
                try:
                    attacker.call("java.util.Objects", "isNull", attacker.give(number=1, interfaces=list(interfaces)))
                    attacker.call("java.util.Objects", "isNull", attacker.give(interfaces=list(interfaces)))
                except RpcError as error:
                    self.assertIn(error.code, (-32000, -32602), error)
                    refused += 1
            self.assertGreater(refused, 0)
            for number, type_name in enumerate(("java.util.TreeMap", "java.util.concurrent.ConcurrentSkipListMap",
                                                "java.util.concurrent.Phaser", "java.util.zip.CRC32C")):
                self.assertIsNotNone(other.new(type_name), type_name)
                self.assertEqual(other.call(CALLING, "echo", typed("int", number)), str(number))


if __name__ == "__main__":
    unittest.main()
