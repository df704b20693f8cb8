"""Binary messages that are repeated with a change: the data that the peer keeps of the first message must not
affect the answers."""

import json
import random
import uuid

from support import colfer
from support.binary_client import (DENIED, BinaryClient, Raised, call_message, get_message, new_message, obj, obj_null,
                                   obj_ref, obj_text, put_message)
from support.peer import eventually
from support.peer_case import BinaryCase, PeerCase, allow, deny

WARM = 5  # how often a request is sent before something changes
ADD = ("fixtures.Calculator", "add")
ECHO = ("fixtures.Arguments", "echoString")
LIST = "java.util.ArrayList"


class Repeated(BinaryCase):
    def warm(self, message):
        """Sends the message WARM times. Returns the result, and checks that it is the same each time."""
        (result,) = {json.dumps(self.client.result(message)) for _ in range(WARM)}
        return json.loads(result)

    def test_another_text_is_read(self):
        for text in ("", "a", "x" * 127, "x" * 128, 'quo"te', "Grüße 🪐", "\0\n\\", "x" * 70_000, "a"):
            for declared in (None, "String", "java.lang.String"):
                for value in (text, text + "b"):
                    self.assertEqual(self.client.call(*ECHO, obj(value, declared)), value)
                    raw = obj_text(json.dumps(value, ensure_ascii=False), declared)
                    self.assertEqual(self.client.call(*ECHO, raw), value)

    def test_another_array_is_read(self):
        for length in (0, 1, 2, 100, 1001, 5):
            numbers = list(range(-1, length - 1))
            for declared in ("int[]", "[I"):
                self.assertEqual(self.client.call("fixtures.Workloads", "sum", obj(numbers, declared)), sum(numbers))
            self.raised_by(self.client.call, "fixtures.Workloads", "sum", obj([*numbers, 2**31], "int[]"))

    def test_an_instance_of_another_class_is_found(self):
        objects = [self.client.new(name) for name in (LIST, "java.util.LinkedList", "java.util.Vector", LIST)]
        for number in objects * 3:
            self.client.call("java.util.List", "add", number, on=number)
        for number in objects * 3:
            self.assertEqual(self.client.call("java.util.List", "size", on=number), 3)
        other = self.client.new("fixtures.User", "ann", 30)
        for wrong in (other, 999999):
            self.raised_by(self.client.call, "java.util.List", "size", on=wrong)
        self.assertEqual(self.client.call("fixtures.Arguments", "echoObject", obj_ref(objects[0])), [objects[0]] * 3)
        self.assertEqual(self.client.call("fixtures.Arguments", "echoObject", obj_ref(other)), other)
        self.assertIsNone(self.client.call("fixtures.Arguments", "echoObject", obj_null()))

    def test_an_object_that_is_deleted_is_not_found(self):
        number = self.client.new(LIST)
        message = call_message(LIST, "size", on=number)
        self.warm(message)
        self.client.control("delete_object", number)
        self.assert_raised(message, "java.lang.NullPointerException", f"objRef: {number}")

    def test_another_session_has_other_objects(self):
        names = [uuid.uuid4().bytes for _ in range(3)]
        for name in names:
            self.client.peer_uuid = name
            number = self.client.new(LIST)
            for _ in range(names.index(name)):
                self.client.call(LIST, "add", "x", on=number)
        for name in names * 3:
            self.client.peer_uuid = name
            self.assertEqual(self.client.call(LIST, "size", on=1), names.index(name))
        for name in (b"", b"short", uuid.uuid4().bytes):
            self.client.peer_uuid = name
            self.raised_by(self.client.call, LIST, "size", on=1)

    def test_other_members_change_each_time(self):
        for number in (0, 1, 127, 128, (1 << 21) - 1, 1 << 21, (1 << 32) - 1):
            for clock in (0, 1, (1 << 49) - 1, 1 << 49, (1 << 64) - 1):
                message = call_message(*ADD, number % 1000, 1)
                message["execMessage"].update({"threadName": f"thread-{number}", "currentTime": clock,
                                               "dispatchSeq": number, "builderSeq": number})
                self.assertEqual(self.client.result(message)["value"], str(number % 1000 + 1))

    def test_a_member_less_or_more(self):
        whole = call_message(*ADD, 1, 2)
        for field, value in (("name", ""), ("name", "addLong"), ("name", "ad"), ("clazz", None), ("clazz", {}),
                             ("clazz", {"name": "fixtures.Calculato"}), ("args", []), ("args", [obj(1)]),
                             ("args", [obj(1)] * 3), ("args", [obj(1), {}]), ("modifiers", 5), ("context", {})):
            self.warm(whole)
            changed = call_message(*ADD, 1, 2)
            changed["execMessage"]["classMethodCall"][field] = value
            if field in ("modifiers", "context") or value == "addLong":
                self.assertEqual(self.client.result(changed)["value"], "3")
            else:
                with self.assertRaises(Raised):
                    self.client.run(changed)

    def test_a_message_that_is_cut_off_or_too_long(self):
        message = self.client.addressed(call_message(*ADD, 1, 2))
        whole = colfer.encode("Message", message)
        for size in range(1, len(whole)):
            self.warm(call_message(*ADD, 1, 2))
            for payload in (whole[:size], whole[:size] + b"\x7f" * (len(whole) - size), whole + whole[:size]):
                self.client.send_bytes(payload)
                if payload != whole:
                    self.assertNotIn("returnValue", self.client.receive().get("execMessage", {}), payload)
                else:
                    self.client.receive()


class BothWays(BinaryCase):
    """A message that the peer knows must get the same answer as a message that the peer has to parse. The peer parses
    each message that has a thread's name beyond ASCII."""

    METHODS = (*ADD, 2), ("fixtures.Calculator", "addLong", 2), ("java.lang.Math", "max", 2), \
        ("java.lang.Math", "negateExact", 1), ("fixtures.Throwables", "divide", 2), ("fixtures.Overloads", "widen", 1), \
        ("fixtures.Overloads", "narrowest", 1), *(("fixtures.Arguments", f"echo{kind}", 1) for kind in (
            "Byte", "Short", "Int", "Long", "BoxedInt", "Double", "Char", "Boolean", "String"))
    FIELDS = ("anInt", "aLong", "aByte", "aVolatile", "instanceFinal", "anInteger", "aStatic", "size")
    TYPES = (None, "int", "long", "short", "byte", "Integer", "java.lang.Long", "double", "char", "String", "no.such.Type")
    TEXTS = ("0", "1", "-1", "7", "127", "128", "-129", "32767", "32768", "2147483647", "2147483648", "-2147483648",
             "-2147483649", "999999999999999999", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
             "-0", "00", "01", "-", "+1", " 1", "1 ", "1.0", "1e3", "5l", "5f", "true", "null", '"1"', "[1]", "1" * 200)

    def setUp(self):
        super().setUp()
        self.rng = random.Random(9)
        self.client.peer_uuid = bytes(range(16))

    def answer_of(self, message, thread_name):
        head = {"messageId": "the same", "threadName": thread_name}
        reply = self.client.ask({**message, "execMessage": {**message["execMessage"], **head}})
        return {**reply, "messageId": None}

    def assert_same(self, message):
        self.assertEqual(self.answer_of(message, "main"), self.answer_of(message, "Fädchen"), message)

    def random_text(self):
        return self.rng.choice(self.TEXTS) if self.rng.random() < 0.7 else str(self.rng.randint(-2**33, 2**33))

    def test_calls_have_the_same_answers_both_ways(self):
        for _ in range(150):
            type_name, method, count = self.rng.choice(self.METHODS)
            declared = [self.rng.choice(self.TYPES) for _ in range(count)]
            for _ in range(8):
                args = [obj_text(self.random_text(), declared_type) for declared_type in declared]
                self.assert_same(call_message(type_name, method, *args))

    def test_calls_and_fields_of_objects_have_the_same_answers_both_ways(self):
        numbers = [self.client.new(name) for name in ("fixtures.Fields", "com.example.Calculator", LIST, "fixtures.Fields")]
        for _ in range(150):
            number, other = self.rng.choice(numbers), self.rng.choice((*numbers, 999))
            field = self.rng.choice(self.FIELDS)
            declared = self.rng.choice(self.TYPES)
            for on in (number, number, other):
                for type_name in ("fixtures.Fields", LIST):
                    self.assert_same(put_message(type_name, field, obj_text(self.random_text(), declared), on=on))
                    self.assert_same(get_message(type_name, field, on=on))
                self.assert_same(call_message("java.util.List", "size", on=on))
                self.assert_same(call_message("java.lang.Object", "getClass", on=on))


class Reloaded(PeerCase):
    kind = BinaryClient

    def test_a_policy_that_denies_what_it_allowed(self):
        client = self.serve_with(allow("fixtures.**"), "--rpc-policy-watch-interval", "20")
        messages = (call_message(*ADD, 1, 2), get_message("fixtures.Fields", "aStatic"),
                    put_message("fixtures.Fields", "aStatic", 5), new_message("fixtures.Fields"))
        for message in messages * WARM:
            client.run(message)
        self.put_policy(deny("fixtures.**"))
        eventually(lambda: "raisedThrowable" in client.ask(messages[0]), "the new policy is in force")
        for message in messages * WARM:
            self.assert_raised(message, DENIED)
