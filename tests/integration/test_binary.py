"""The binary messages: each operation in each envelope, and the parts of binary answers that the conformance cases
do not compare (tests/conformance/binary_form.py)."""

import base64
import gzip
import json

from support.binary_client import (DENIED, BinaryClient, Refused, call_message, control_message, get_message,
                                   meta_message, named, new_message, obj, obj_null, obj_ref, obj_text, put_message)
from support.peer_case import BinaryCase, PeerCase, allow

LIST = "java.util.ArrayList"
FIELDS = "fixtures.Fields"
PUBLIC, PUBLIC_STATIC = 1, 9


class Operations(BinaryCase):
    def test_each_operation_is_served_in_each_envelope(self):
        for shape in BinaryClient.SHAPES:
            with self.subTest(shape=shape), BinaryClient(self.peer, shape) as client:
                counter = client.new("com.example.Calculator")
                self.assertEqual(client.call("com.example.Calculator", "accumulate", 5, on=counter), 5)
                self.assertEqual(client.call("com.example.Calculator", "add", 5, 3), 8)
                self.assertEqual(client.get("com.example.Config", "VERSION"), "1.4.2")
                self.assertEqual(client.get("com.example.Calculator", "result", on=counter), 5)
                client.put(FIELDS, "aStatic", 77)
                self.assertEqual(client.get(FIELDS, "aStatic"), 77)
                client.put("com.example.Calculator", "result", 40, on=counter)
                self.assertEqual(client.call("com.example.Calculator", "accumulate", 2, on=counter), 42)
                client.control("ping")
                client.control("gc")
                client.control("delete_object", counter)
                self.raised_by(client.call, "com.example.Calculator", "self", on=counter)
                client.control("delete_session")
                self.assertTrue(client.meta(obj(True), obj_null(), obj_null(), obj(["com.example.MyClass"])))

    def test_other_members_of_a_request_are_accepted(self):
        """A Java client also sets members that the peer does not need."""
        message = call_message("fixtures.Calculator", "add", 1, 2)
        call = {**message["execMessage"]["classMethodCall"], "modifiers": 9, "context": {
            "sourceLocationFile": "Main.java", "sourceLocationLine": 1 << 31, "sourceLocationType": "com.example.Main"}}
        message["execMessage"] = {
            "threadName": "main", "currentTime": 1 << 60, "dispatchSeq": 1, "builderSeq": 1 << 30, "classMethodCall": call,
            "declaredExceptions": ["java.io.IOException", ""], "threadAffinity": "nobody", "entryPoint": True}
        self.assertEqual(self.client.result(message), {"clazz": named("int"), "value": "3"})

    def test_a_request_without_an_id_is_answered(self):
        message = call_message("fixtures.Calculator", "add", 1, 2)
        message["execMessage"]["messageId"] = ""
        self.assertEqual(self.client.result(message)["value"], "3")


class Puts(BinaryCase):
    def test_a_put_answers_with_the_field_that_was_put(self):
        number = self.client.new(FIELDS)
        for name, value, kind, modifiers, on in (("aStatic", 5, "static", PUBLIC_STATIC, {}),
                                                 ("aString", "new text", "instance", PUBLIC, {"on": number})):
            message = put_message(FIELDS, name, value, **on)
            message["execMessage"]["messageId"] = "put it"
            self.assertEqual(self.client.ask(message)[f"{kind}FieldPutDone"], {
                "field": {"clazz": named(FIELDS), "name": name, "modifiers": modifiers}, f"{kind}FieldPutId": "put it"})
            self.assertEqual(self.client.get(FIELDS, name, **on), value)

    def test_the_value_of_a_put_is_a_ref_with_or_without_its_class(self):
        number = self.client.new(FIELDS)
        for value in (obj_ref(number), obj_ref(number, FIELDS)):
            self.client.put(FIELDS, "anObject", obj_null(), on=number)
            self.client.put(FIELDS, "anObject", value, on=number)
            self.assertEqual(self.client.get(FIELDS, "anObject", on=number), number)

    def test_a_ref_is_used_and_not_the_value_beside_it(self):
        number = self.client.new(FIELDS)
        for value in (obj("x"), obj_ref(999999), obj_null(), obj_text("not JSON")):
            message = put_message(FIELDS, "anObject", obj_ref(number), on=number)
            message["execMessage"]["instanceFieldPut"]["valueObject"] = value
            self.client.put(FIELDS, "anObject", obj_null(), on=number)
            self.client.run(message)
            self.assertEqual(self.client.get(FIELDS, "anObject", on=number), number)

    def test_null_can_be_put_in_each_form(self):
        number = self.client.new(FIELDS)
        for value in (obj_null(), obj(None), obj_null("java.lang.Object"), {}):
            self.client.put(FIELDS, "anObject", "x", on=number)
            self.client.put(FIELDS, "anObject", value, on=number)
            self.assertIsNone(self.client.get(FIELDS, "anObject", on=number))

    def test_a_put_without_a_value_is_refused(self):
        number = self.client.new(FIELDS)
        for message, struct in ((put_message(FIELDS, "aStatic", {}), "staticFieldPut"),
                                (put_message(FIELDS, "anInt", {}, on=number), "instanceFieldPut")):
            del message["execMessage"][struct]["valueObject"]
            self.assert_raised(message, "java.lang.IllegalArgumentException", "Value is missing")


class Throwables(BinaryCase):
    def test_a_throwable_is_sent_with_all_members_and_causes(self):
        raised = self.raised_by(call_message("fixtures.Throwables", "nested"))
        method = {"clazz": named("fixtures.Throwables"), "name": "nested", "modifiers": PUBLIC_STATIC}
        self.assertEqual(raised.raised["from"], {"method": method})
        self.assertEqual(raised.raised["modifiers"], PUBLIC_STATIC)
        self.assertLessEqual(set(raised.raised), {"from", "modifiers", "throwable"})
        throwable, chain = raised.throwable, []
        while throwable:
            self.assertLessEqual(set(throwable), {"type", "message", "stackTraceElements", "cause"})
            self.assertRegex(throwable["stackTraceElements"][0], r"^fixtures\.Throwables\.\w+\(Throwables\.java:\d+\)$")
            chain.append((throwable["type"], throwable["message"]))
            throwable = throwable.get("cause")
        self.assertEqual(chain, [("java.lang.UnsupportedOperationException", "outer"),
                                 ("java.lang.IllegalArgumentException", "middle"),
                                 ("java.lang.IllegalStateException", "inner")])

    def test_throwables_may_have_no_message_or_a_message_that_is_not_unicode(self):
        self.assertNotIn("message", self.raised_by(call_message("fixtures.Throwables", "withoutMessage")).throwable)
        text = obj_text('"a\\ud800b\\udc00\\ud83e\\ude90\\u0000"')
        self.assertEqual(self.raised_by(call_message("fixtures.Throwables", "plain", text)).text, "a\ufffdb\ufffd🪐\0")

    def test_what_initialises_a_class_alone_is_not_served(self):
        for number in (0, 12, 255):
            message = {"messageType": number, "execMessage": {
                "messageId": "the id", "clinitCall": {"clazz": named("fixtures.LoudInitializer")}}}
            self.client.send(message)
            reply = self.client.receive()["execMessage"]
            self.assertEqual(reply["responseToId"], "the id")
            self.assertEqual(reply["raisedThrowable"]["throwable"]["type"], "java.lang.UnsupportedOperationException")
        self.assertNotIn("initialised", self.peer.stdout())


class Control(BinaryCase):
    def status_of(self, message):
        return self.client.ask(message)["status"]

    def test_control_requests_have_each_status(self):
        number = self.client.new(LIST)
        unknown = control_message("ping")
        unknown["controlMessage"]["command"] = 99
        without_command = control_message("ping")
        del without_command["controlMessage"]["command"]
        for message, status in ((control_message("ping"), 1), (control_message("gc"), 1),
                                (control_message("delete_object", number), 1),
                                (control_message("delete_object", number), 6), (control_message("delete_session"), 1),
                                (control_message("delete_object"), 2), (unknown, 4), (without_command, 4)):
            reply = self.client.ask(message)
            self.assertEqual(reply["status"], status, message)
            self.assertEqual("body" in reply, status != 1, reply)

    def test_delete_object_accepts_only_refs(self):
        for param in (obj(1), obj_null(), {}, obj_text("not JSON")):
            message = control_message("delete_object")
            message["controlMessage"]["params"] = [param]
            self.assertEqual(self.status_of(message), 2)


class Metadata(BinaryCase):
    ONE = ["com.example.MyClass"]

    def assert_describes(self, body, compressed=True):
        described = json.loads(gzip.decompress(base64.b64decode(body, validate=True)) if compressed else body)
        self.assertEqual([one["className"] for one in described], self.ONE)
        return described[0]

    def test_params_in_their_order(self):
        self.assert_describes(self.client.meta({}, {}, {}, obj(self.ONE, "[Ljava.lang.String;")))
        self.assert_describes(self.client.meta(obj(True, "boolean"), obj(False, "boolean"), obj_null(), obj(self.ONE)))
        self.assert_describes(self.client.meta(obj(False), obj_null("boolean"), obj([]), obj(self.ONE)), compressed=False)
        merged = self.assert_describes(self.client.meta(obj(False), obj(True), {}, obj(self.ONE)), compressed=False)
        self.assertIn("hashCode", json.dumps(merged))

    def test_params_by_name(self):
        named_ones = [obj({"name": "include_classes", "type": "java.lang.String[]", "value": self.ONE}),
                      obj({"name": "compress_encode", "type": "boolean", "value": False})]
        self.assert_describes(self.client.meta(named_ones[0]))
        self.assert_describes(self.client.meta(*named_ones), compressed=False)
        excluded = obj({"name": "exclude_prefixes", "value": ["com.example."]})
        self.assertEqual(self.client.meta(*named_ones, excluded), "[]")

    def test_refused_values(self):
        by_name = obj({"name": "compress_encode", "value": False})
        no_boolean = "'compress_encode' must be true or false"
        no_texts = "'exclude_prefixes' must be an array of strings or null"
        names = "compress_encode, merge_ancestry, exclude_prefixes or include_classes"
        for params, says in (
                ((by_name, obj(True)), "argument 1 has no name, and others have one"),
                ((obj(True), by_name), "argument 1 has a name, and others have none"),
                ((by_name, by_name), "'compress_encode' is given twice"),
                ((obj({"name": "nonsense", "value": 1}),), f"argument 0 must be named {names}"),
                ((obj({"name": 1, "value": 1}),), f"argument 0 must be named {names}"),
                ((obj({}),), "argument 0 has no 'name'"),
                ((obj({"name": "compress_encode"}),), "'compress_encode' has no 'value'"),
                ((obj({"name": "compress_encode", "type": 1, "value": True}),),
                 "argument 0 has a 'type' that is no string"),
                ((obj("perhaps"),), no_boolean), ((obj_ref(1),), no_boolean),
                ((obj(True, "int"),), "'compress_encode' has type boolean"),
                (({}, {}, obj(True, "boolean")), "'exclude_prefixes' has type java.lang.String[]"),
                (({}, {}, obj("a")), no_texts), (({}, {}, obj([1])), no_texts),
                (({}, {}, {}, obj(5)), "'include_classes' must be an array of strings or null"),
                (({}, {}, {}, {}, {}), "argument 4 is one too many"),
                ((obj_text("[1"),), "argument 0: the value is no JSON text: byte 2: unexpected end")):
            with self.assertRaises(Refused) as refused:
                self.client.meta(*params)
            self.assertEqual((refused.exception.status, refused.exception.body), ("ERROR", says), params)

    def test_an_unknown_service_is_an_error(self):
        for service in (0, 2, 255):
            reply = self.client.ask(meta_message(service=service))
            self.assertEqual((reply["status"], reply["body"]), (4, f"Unknown meta service: {service}"))


class Policy(PeerCase):
    kind = BinaryClient

    def test_its_channel_is_that_of_the_socket(self):
        client = self.serve_with(allow("fixtures.Calculator", channel="ZMQ_SOCKET_RPC")
                                 + allow("fixtures.Fields", channel="WEBSOCKET_RPC"))
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), 3)
        number = client.new("fixtures.Calculator")
        for message, member in (
                (new_message(FIELDS), "fixtures.Fields.<init>"), (get_message(FIELDS, "aStatic"), "fixtures.Fields.aStatic"),
                (put_message(FIELDS, "aStatic", 1), "fixtures.Fields.aStatic"),
                (call_message(FIELDS, "readStaticFinal"), "fixtures.Fields.readStaticFinal"),
                (call_message("java.lang.Object", "toString", on=number), "java.lang.Object.toString"),
                (call_message("no.such.Thing", "x"), "no.such.Thing.x"),
                (call_message("fixtures.Calculator", "add", obj_null("no.such.Thing")), "no.such.Thing.class")):
            self.assert_raised(message, DENIED, f"RPC access denied: {member} via ZMQ_SOCKET_RPC")
        shown = json.loads(client.meta(obj(False)))
        self.assertEqual([one["className"] for one in shown], ["fixtures.Calculator"])
        self.assertEqual(client.call("fixtures.Calculator", "accumulate", 4, on=number), 4)
