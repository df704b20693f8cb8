"""Malformed binary messages: each is answered, and the peer serves others afterwards."""

import zmq

from support import colfer
from support.binary_client import (REPLIES, REQUESTS, THROWS, BinaryClient, call_message, control_message,
                                   exec_message, get_message, meta_message, new_message, obj, obj_text, part_of,
                                   put_message)
from support.clients import WebSocketClient
from support.peer_case import PeerCase

ADD = call_message("fixtures.Calculator", "add", 1, 2)
MIB = 1 << 20
NOT_UTF8 = (b"\xff", b"a\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80")
RESPONSES = sorted(REPLIES)
ERROR, UNSUPPORTED = 2, 4


def identified(message, message_id="the id"):
    """The bytes of the message with this id."""
    (name,) = set(message) - {"messageType"}
    return colfer.encode("Message", {**message, name: {**message[name], "messageId": message_id}})


def field(index, content=b""):
    return bytes([index]) + content


def text(content):
    return colfer.sized(content if isinstance(content, bytes) else content.encode())


def exec_bytes(*fields):
    """The bytes of a call of a class method. The exec message has an id and these fields."""
    return field(0, b"\3") + field(1, field(1, text("the id")) + b"".join(fields) + b"\x7f") + b"\x7f"


def call_bytes(*fields):
    """The same, but the call has these fields."""
    return exec_bytes(field(9, b"".join(fields) + b"\x7f"))


def class_bytes(name):
    return field(0, field(0, text(name)) + b"\x7f")


class HostileCase(PeerCase):
    options = ()

    @classmethod
    def tearDownClass(cls):
        """Checks that other clients are still served."""
        with BinaryClient(cls.peer, "req") as binary, WebSocketClient(cls.peer) as other:
            assert binary.call("fixtures.Calculator", "add", 1, 2) == 3
            assert other.call("fixtures.Calculator", "add", 1, 2) == "3"

    def setUp(self):
        super().setUp()
        self.clients = [self.connect(BinaryClient, shape) for shape in BinaryClient.SHAPES]
        self._client = self.clients[0]

    def answer_to(self, payload, client=None):
        """Sends the payload. Returns the message inside the reply: an exec, control or meta message."""
        client = client or self.client
        client.send_bytes(payload)
        return part_of(client.receive())

    def assert_refused(self, payload, status=ERROR, answers="", says=""):
        """Checks that each kind of socket gets a control response with this status. answers: the id that the response
        names."""
        for client in self.clients:
            reply = self.answer_to(payload, client)
            self.assertEqual(reply.get("status"), status, reply)
            self.assertEqual(reply.get("responseToId", ""), answers, reply)
            self.assertIn(says, reply["body"])
            self.assertNotIn("command", reply)

    def assert_raised(self, payload, type_name="java.lang.IllegalArgumentException", says=""):
        """Checks that each kind of socket gets a reply with this throwable."""
        for client in self.clients:
            reply = self.answer_to(payload, client)
            self.assertEqual(reply["responseToId"], "the id")
            throwable = reply["raisedThrowable"]["throwable"]
            self.assertEqual(throwable["type"], type_name, throwable)
            self.assertIn(says, throwable["message"])


class Bytes(HostileCase):
    """Payloads that cannot be decoded."""

    def test_messages_that_end_too_early(self):
        for message in (ADD, put_message("fixtures.Fields", "aStatic", 5), control_message("ping"), meta_message(obj(True))):
            whole = identified(message)
            id_ends = whole.index(b"the id") + len("the id")
            for size in range(1, len(whole)):
                reply = self.answer_to(whole[:size])
                self.assertEqual(reply["status"], ERROR, whole[:size])
                self.assertEqual(reply.get("responseToId", ""), "the id" if size >= id_ends else "", whole[:size])

    def test_messages_with_one_wrong_bit(self):
        """Inverts each bit of a message that was just served."""
        whole = identified(call_message("java.lang.Math", "max", obj(1, "int"), 2))
        for bit in range(8, len(whole) * 8):
            self.assertEqual(self.answer_to(whole)["returnValue"]["object"]["value"], "2")
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            self.answer_to(bytes(flipped))

    def test_the_error_says_what_cannot_be_decoded(self):
        for payload, status, answers, says in (
                (b"", ERROR, "", "The message is empty"), (b"\x7f", UNSUPPORTED, "", "Message type 0 is not served"),
                (b"\0\x0c\x7f", UNSUPPORTED, "", "Message type 12 is not served"),
                (b"\0\xff\1\1\1x\x7f\x7f", UNSUPPORTED, "x", "Message type 255 is not served"),
                (b"\0\x0b\1\1\1x\x7f\x7f", ERROR, "x", "Message type 11 is an answer, not a request"),
                (b"\0\x20\2\1\1x\x7f\x7f", ERROR, "x", "Message type 32 is an answer, not a request"),
                (b"\0\x3d\3\1\1x\x7f\x7f", ERROR, "x", "Message type 61 is an answer, not a request"),
                (b"\4\x7f\x7f", UNSUPPORTED, "", "Intercept messages are not served"),
                (b"\0\3\x09", ERROR, "", "The message cannot be decoded: message, byte 2: message has no field 9"),
                (b"\0\3\1\1\1x", ERROR, "x", "The message cannot be decoded: exec_message, byte 6: the message ends here"),
                (b"\0\3\1\1\5x", ERROR, "", "decoded: exec_message.message_id, byte 4: 5 bytes, and 1 are left"),
                (b"\0\x1f\2\1\1x\4\xff\xff\3", ERROR, "x",
                 "decoded: control_message.params, byte 7: 65535 elements, and 0 bytes are left"),
                (b"\0\3\x7f\x7f", ERROR, "", "The message cannot be decoded: message, byte 3: 1 bytes after the end")):
            self.assert_refused(payload, status, answers, says)

    def test_bytes_after_the_end(self):
        for after in (b"\0", b"\x7f", b"{}", identified(ADD)):
            self.assert_refused(identified(ADD) + after, answers="the id")

    def test_messages_without_fields_are_refused(self):
        for payload in (b"\x7f", b"\1\x7f\x7f", b"\2\x7f\x7f", b"\3\x7f\x7f"):
            self.assert_refused(payload, status=UNSUPPORTED)

    def test_unknown_indexes(self):
        self.assert_refused(b"\0\3\x09\x7f")
        self.assert_refused(b"\0\3\x7e\x7f")
        self.assert_refused(exec_bytes(field(22)), answers="the id")
        self.assert_refused(call_bytes(field(5)), answers="the id")
        self.assert_refused(call_bytes(class_bytes("a"), field(0x85)), answers="the id")

    def test_fields_out_of_order(self):
        self.assert_refused(call_bytes(field(1, text("add")), class_bytes("fixtures.Calculator")), answers="the id")
        self.assert_refused(exec_bytes(field(0, text(b"u" * 16))), answers="the id")

    def test_counts_and_lengths_beyond_the_message(self):
        for number in (4, 0x7F, 1 << 16, (1 << 16) + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1,
                       (1 << 64) - 1, (1 << 64) + 1, 1 << 200):
            length = colfer.varint(number)
            for payload in (call_bytes(field(3, length)), call_bytes(field(3, length + b"\x7f\x7f\x7f")),
                            exec_bytes(field(19, length + b"\1a")), exec_bytes(field(20, length)),
                            call_bytes(field(0, field(0, length + b"a")))):
                self.assert_refused(payload, answers="the id")
        self.assert_refused(field(0, b"\3") + field(1, field(0, colfer.varint((1 << 32) + 16))))

    def test_lists_at_their_limit(self):
        limit = 1 << 16
        self.assert_refused(call_bytes(field(3, colfer.varint(limit + 1) + b"\x7f" * (limit + 1))), answers="the id")
        self.assert_refused(exec_bytes(field(19, colfer.varint(limit + 1) + b"\0" * (limit + 1))), answers="the id")
        self.assert_raised(call_bytes(class_bytes("fixtures.Overloads"), field(1, text("objects")),
                                      field(3, colfer.varint(limit) + b"\x7f" * limit)), says="65535")

    def test_numbers_that_are_too_long(self):
        for number in (b"\x80" * 4, b"\xff" * 5 + b"\1", b"\x80" * 30 + b"\1", b"\x80" * 1000):
            self.assert_refused(call_bytes(field(2, number)), answers="the id")
            self.assert_refused(exec_bytes(field(3, b"\x80" * 7 + number)), answers="the id")

    def test_texts_that_are_no_utf8(self):
        for content in NOT_UTF8:
            self.assert_refused(call_bytes(class_bytes(content)), answers="the id")
            self.assert_refused(call_bytes(field(1, text(content))), answers="the id")
            self.assert_refused(call_bytes(field(3, b"\1" + field(0, text(content)) + b"\x7f")), answers="the id")
            self.assert_refused(exec_bytes(field(19, b"\1" + text(content))), answers="the id")
            self.assert_refused(field(0, b"\3") + field(1, field(1, text(content)) + b"\x7f") + b"\x7f")

    def test_causes_that_are_nested_too_deep(self):
        for depth in (64, 65, 1000, 100_000, 3_000_000):
            causes = b"\3" * depth + b"\x7f" * depth
            self.assert_refused(exec_bytes(field(17, field(3, causes + b"\x7f") + b"\x7f")), answers="the id")
        self.assert_refused(exec_bytes(field(17, b"\3" * (15 * MIB))), answers="the id")

    def test_a_message_of_the_greatest_depth_is_read(self):
        """The deepest message has 64 nested structs: the message, the exec message, the raised error, and 61
        throwables."""
        call = field(9, colfer.encode("ClassMethodCall", ADD["execMessage"]["classMethodCall"]))
        for throwables, is_served in ((61, True), (62, False)):
            payload = exec_bytes(call, field(17, b"\3" * throwables + b"\x7f" * throwables + b"\x7f"))
            if is_served:
                self.assertEqual(self.answer_to(payload)["returnValue"]["object"]["value"], "3")
            else:
                self.assert_refused(payload, answers="the id")


class Messages(HostileCase):
    """Messages that can be decoded but ask for nothing that is served."""

    def test_an_exec_message_without_the_struct_of_its_type(self):
        for number in range(1, 8):
            self.assert_raised(colfer.encode("Message", {"messageType": number, "execMessage": {"messageId": "the id"}}),
                               says=f"message type {number} needs")

    def test_a_message_type_without_a_struct(self):
        for number, (part, _, answer) in REQUESTS.items():
            for client in self.clients:
                client.send({"messageType": number})
                reply = client.receive()
                self.assertEqual(reply["messageType"], answer if part != "execMessage" else THROWS)
                self.assertNotIn("responseToId", part_of(reply))

    def test_a_message_with_the_struct_of_another_type(self):
        for number in (1, 2, 4, 5, 6, 7):
            self.assert_raised(identified({**ADD, "messageType": number}), says=f"message type {number} needs")
        for number, message in ((31, ADD), (60, ADD), (31, meta_message()), (60, control_message("ping"))):
            reply = self.answer_to(identified({**message, "messageType": number}))
            self.assertEqual((reply["status"], reply["responseToId"]), (ERROR, "the id"))
        for message in (control_message("ping"), meta_message()):
            self.assert_raised(identified({**message, "messageType": 3}), says="message type 3 needs")

    def test_a_reply_is_no_request(self):
        for number in RESPONSES:
            part, name = REPLIES[number]
            message = {"messageType": number, part: {"messageId": "the id", **({name: {}} if name else {})}}
            self.assert_refused(colfer.encode("Message", message), answers="the id")

    def test_unknown_message_types(self):
        for number in (0, 12, 30, 33, 59, 62, 127, 128, 255):
            self.assert_refused(identified({**ADD, "messageType": number}), status=UNSUPPORTED, answers="the id")

    def test_intercept_messages(self):
        for index in range(4, 9):
            for number in (20, 40, 50):
                for content in (b"", field(0, b"\1"), field(0, text("an id")) + field(7)):
                    for client in self.clients:
                        payload = field(0, bytes([number])) + field(index, content + b"\x7f") + b"\x7f"
                        self.assertEqual(self.answer_to(payload, client)["status"], UNSUPPORTED)

    def test_several_calls_in_one_message(self):
        message = {"messageType": 3, "execMessage": {**ADD["execMessage"], **new_message("fixtures.User")["execMessage"]}}
        self.assertEqual(self.answer_to(identified(message))["responseToId"], "the id")
        both = {**ADD, "controlMessage": {"messageId": "another", "command": 2}}
        both["execMessage"] = {**ADD["execMessage"], "messageId": "the id"}
        self.assertEqual(self.answer_to(colfer.encode("Message", both))["responseToId"], "the id")

    def test_ids_of_any_length(self):
        for length in (1, 127, 128, 1000, 100_000):
            message_id = "ü" * length
            reply = self.answer_to(identified(ADD, message_id))
            self.assertEqual(reply["responseToId"], message_id)
            self.assertEqual(reply["returnValue"]["object"]["value"], "3")

    def test_names_of_any_length(self):
        for name in ("x" * 100_000, "a." * 50_000 + "B", "[" * 300 + "I", "\0", "..", "ü", "java/lang/Math"):
            for message in (new_message(name), call_message(name, "x"), call_message("fixtures.Calculator", name),
                            get_message("fixtures.Fields", name), call_message("fixtures.Calculator", "add", obj(1, name))):
                reply = self.answer_to(identified(message))
                self.assertIn("type", reply["raisedThrowable"]["throwable"])
                self.assertLess(len(str(reply)), 20_000)

    def test_values_that_are_too_deep(self):
        for depth in (129, 5000, 1_000_000):
            for opening, closing in (("[", "]"), ('{"a":', "}")):
                value = obj_text(opening * depth + "1" + closing * depth)
                self.assert_raised(identified(call_message("fixtures.Arguments", "describe", value)), says="depth")

    def test_descriptions_of_values(self):
        for value, says in (
                (obj_text("Alice"), "the value is no JSON text: byte 0: unexpected character"),
                (obj_text("5 6"), "the value is no JSON text: byte 2: text after the end of the value"),
                (obj_text(" "), "the value is no JSON text: byte 1: unexpected end"),
                (obj_text("9" * 10_001), "a number has more digits than the limit of 10000 (number-digits-max)"),
                ({"ref": 1 << 31}, "'ref' must be an integer from 1 to 2147483647"),
                (obj_text('[{"ref":1,"ref":2}]'), "'ref' is given twice")):
            call = call_message("fixtures.Arguments", "describe", 1, value)
            self.assert_raised(identified(call), says=f"argument 1: {says}")
            self.assert_raised(identified(put_message("fixtures.Fields", "aStatic", value)), says=f"value: {says}")

    def test_names_at_their_limit(self):
        longest, said = "x" * 65_535, "a name is longer than the limit of 65535 bytes"
        self.assert_raised(identified(call_message(longest, "m")), "java.lang.ClassNotFoundException")
        self.assert_raised(identified(call_message("x" * 100_000, "m")), says=said)
        self.assert_raised(identified(call_message("fixtures.Calculator", longest)), "java.lang.NoSuchMethodException")
        self.assert_raised(identified(call_message("fixtures.Calculator", longest + "x")), says=said)

    def test_senders_that_are_no_uuid(self):
        for length in (1, 15, 17, 300):
            for message, part, name in ((ADD, "execMessage", "peerUuid"),
                                        (control_message("ping"), "controlMessage", "fromPeer"),
                                        (meta_message(), "metaMessage", "fromPeer")):
                payload = identified({**message, part: {**message[part], name: b"u" * length}})
                says = f"must be a UUID of 16 bytes, not of {length}"
                if part == "execMessage":
                    self.assert_raised(payload, says="'peer_uuid' " + says)
                else:
                    reply = self.answer_to(payload)
                    self.assertEqual((reply["status"], reply["body"]), (ERROR, "'from_peer' " + says))

    def test_refs_of_any_number(self):
        for number in (1, 127, 128, (1 << 21) - 1, 1 << 21, (1 << 31) - 1):
            self.assert_raised(identified(call_message("fixtures.Calculator", "accumulate", 1, on=number)),
                               "java.lang.NullPointerException", str(number))

    def test_modifiers_and_contexts_mean_nothing(self):
        call = {**ADD["execMessage"]["classMethodCall"], "modifiers": (1 << 32) - 1, "context": {}}
        reply = self.answer_to(identified(exec_message(3, **call)))
        self.assertEqual(reply["returnValue"]["object"]["value"], "3")


class Sizes(HostileCase):
    def assert_too_long(self, peer, payload):
        for shape in BinaryClient.SHAPES:
            with BinaryClient(peer, shape) as client:
                reply = self.answer_to(payload, client)
                self.assertIn("message-max", str(reply))
                self.assertEqual(reply.get("responseToId", ""), "the id")
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), 3)

    @staticmethod
    def message_of(size):
        def make(length):
            return identified(call_message("fixtures.Arguments", "lengthOf", obj("x" * length)))
        payload = make(size - len(make(size)) + size)
        assert len(payload) == size, len(payload)
        return payload

    def test_the_published_limit(self):
        self.assertIn("returnValue", self.answer_to(self.message_of(16 * MIB)))
        self.assert_too_long(self.peer, self.message_of(16 * MIB + 1))

    def test_a_lower_limit(self):
        peer = self.start("--message-max", "4K")
        self.assert_too_long(peer, self.message_of(4097))
        self.assert_too_long(peer, self.message_of(8000))
        client = self.connect(BinaryClient)
        self.assertIn("returnValue", self.answer_to(self.message_of(4096), client))


class Envelopes(HostileCase):
    """Payloads of several frames, and of both forms on one socket."""

    def test_several_frames_get_an_error_in_the_form_of_the_first_frame(self):
        binary, json_text = identified(ADD), b'{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"ping"}}'
        with zmq.Context.instance().socket(zmq.DEALER) as socket:
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.RCVTIMEO, 60_000)
            socket.connect(self.peer.address("tcp"))
            for before in ([], [b""]):
                for frames, is_binary in (([binary, b""], True), ([binary, json_text], True), ([binary] * 5, True),
                                          ([json_text, b""], False), ([json_text, binary], False)):
                    socket.send_multipart(before + frames)
                    answer = socket.recv_multipart()
                    self.assertEqual(answer[:-1], before)
                    if is_binary:
                        self.assertIn("status", part_of(colfer.decode("Message", answer[-1])))
                    else:
                        self.assertIn(b'"code":-32600', answer[-1])

    def test_a_first_byte_that_no_binary_message_has_means_json(self):
        for first in (9, 10, 31, 32, 65, 0x7E, 0x80, 0xFF):
            self.assertTrue(self.client.exchange_bytes(bytes([first]) + identified(ADD)[1:]).startswith(b"{"))
