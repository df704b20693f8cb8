"""Arguments of thousands of elements, of great depth, with long names, and with texts for all classes that
accept a text; and the parts of these arguments that errors quote."""

import json
import os
import uuid

from support.clients import typed
from support.peer_case import PeerCase

MOST = 65535  # arguments of a request, and bytes of a name
# -Xcheck:jni searches all local references for each that is made.
MANY = 3000 if os.environ.get("JPEER_CHECK_JNI") == "1" else MOST
ENTRIES = 1200  # more than one chunk of the data that crosses to Java at once
CONVERSIONS = "fixtures.members.Conversions"


class LongValues(PeerCase):
    options = ()

    def call(self, *words, **more):
        return self.client.call(*words, **more)

    def refusal(self, verb, **params):
        """The text of an error, which is never long."""
        error = self.failure(self.client.value, verb, params)
        self.assertLess(len(error.detail), 9000)
        return f"{error.throwable}: {error.detail}" if error.throwable else error.detail

    def test_elements_keep_their_order(self):
        self.assertEqual(self.call("fixtures.Arguments", "sum", typed("List", [typed("Integer", 1000)] * 10000)), "10000000")
        elements = [str(i) if i % 5 == 0 and i < ENTRIES / 2 else i for i in range(ENTRIES)]
        shown = "".join(f"{'String' if isinstance(one, str) else 'Integer'}:{one} " for one in elements)
        self.assertEqual(self.call(CONVERSIONS, "any", typed("List", elements)), f"ArrayList[{shown}]")
        for length in range(1020, 1030):  # around the end of a chunk of text
            text = "x" * length
            shown = f"ArrayList[String:a String:{text} String:{text[1:]} String:5 String: ]"
            self.assertEqual(self.call(CONVERSIONS, "any", ["a", text, typed("String", text[1:]), typed("String", 5), ""]), shown)

    def test_maps_keep_their_entries(self):
        entries = {f"é{i:04}": f"{i}€" if i % 3 == 0 else i for i in range(ENTRIES)}
        shown = "".join(f"{key}={'String' if isinstance(one, str) else 'Integer'}:{one} " for key, one in entries.items())
        self.assertEqual(self.call(CONVERSIONS, "any", typed("Map", entries)), "HashMap{" + shown + "}")

    def test_maps_have_the_keys_that_are_declared(self):
        for method, key, wrong, again in (("count", str, "x", "-0"),
                                          ("countUuids", lambda i: str(uuid.UUID(int=i)), "x", "0-0-0-0-5")):
            keys = [key(i) for i in range(ENTRIES)]
            self.assertEqual(self.call("fixtures.Keyed", method, typed("Map", {key: i for i, key in enumerate(keys)})), str(ENTRIES))
            for place, other, why in ((1100, wrong, f'argument 0[1100]: the key "{wrong}"'),
                                      (700, again, f'argument 0[700]: the key "{again}": an earlier key is the same')):
                changed = {other if i == place else key: i for i, key in enumerate(keys)}
                said = self.refusal("call", type="fixtures.Keyed", method=method, args=[typed("Map", changed)])
                self.assertTrue(said.startswith(why), said)

    def test_the_most_arguments_of_each_kind_are_accepted(self):
        user = {"ref": self.client.new("fixtures.User", "u", 1)}
        for element in (1, None, [1], user, typed("String", "x")):
            self.assertEqual(self.call("fixtures.Overloads", "objects", *[element] * MANY), str(MANY))
        mixed = [user if i % 3 == 0 else i for i in range(300)]
        self.assertEqual([self.call("fixtures.Overloads", "objects", "x", *mixed) for _ in range(2)], ["301", "301"])
        for type_name in ("long[]", "java.lang.Object[]", "java.lang.Integer[]"):
            self.assertGreater(self.client.new(type_name, *[1] * MOST), 0)
        self.assertEqual(self.refusal("new", type="java.lang.Object[]", args=[1] * (MOST + 1)),
                         f"'args' has more elements than the limit of {MOST}")

    def test_errors_quote_a_few_words(self):
        most = {"type": "java.lang.Math", "method": "max"}
        for count, shown in ((10000, ", int, and 9984 more); candidates: java.lang.Math.max("), (17, "int, and 1 more)"),
                            (16, "int, int); candidates: ")):
            self.assertIn(shown, self.refusal("call", **most, args=[1] * count))
        self.assertIn("java.util.ArrayList(boolean, ", self.refusal("new", type="java.util.ArrayList", args=[True] * 10000))
        long_type = typed("java.util.concurrent.atomic.AtomicReferenceFieldUpdater" + "[]" * 8, None)
        self.assertIn(" more); candidates: ", self.refusal("call", **most, args=[long_type] * 400))
        for before in range(3):  # a character of three bytes is not cut
            said = self.refusal("call", type="java.lang.Math", method="x" * before + "€" * 150)
            self.assertIn("€...", said)

    def test_long_names_are_cut(self):
        name = "m" * 60000
        for method, params, shown in (
                ("call", {"type": "java.lang.Math", "method": name}, "mmm...' found: java.lang.Math."),
                ("call", {"type": "java.lang.Math", "method": "m" * MOST}, "mmm...' found: java.lang.Math."),
                ("call", {"type": "java.lang.Math", "method": "m" * (MOST + 1)}, f"'method' is longer than the limit of {MOST} bytes"),
                ("get", {"type": "java.lang.Math", "field": name}, "mmm...' found in java.lang.Math"),
                ("new", {"type": name}, "java.lang.ClassNotFoundException: mmm"),
                ("new", {"type": "a-" + name}, "Invalid characters in type: a-mmm"),
                ("call", {"type": "java.lang.Math", "method": "max", "args": [typed(name, 1)]}, "ClassNotFoundException: mmm"),
                ("call", {"type": "java.lang.Math", "method": "max", "args": [typed("m" * (MOST + 1), 1)]},
                 f"Type name is longer than the limit of {MOST} bytes"),
                ("call", {"type": "java.util.Objects", "method": "isNull", "args": [typed("java.time.DayOfWeek", name)]},
                 'mmm"...: java.time.DayOfWeek has no such constant')):
            self.assertIn(shown, self.refusal(method, **params))

    def test_long_messages_and_causes_without_end_are_cut(self):
        thrown = {name: self.failure(self.call, "fixtures.HostileThrowables", "throwNew", name)
                  for name in ("LongMessage", "EndlessCauses")}
        self.assertEqual(thrown["LongMessage"].detail, "x" * 65536 + "...")
        causes, cause = 0, thrown["EndlessCauses"].data["cause"]
        while cause is not None:
            causes, cause = causes + 1, cause["cause"]
        self.assertEqual(causes, 31)

    def test_an_argument_takes_the_text_of_a_result(self):
        samples = int(self.call("fixtures.members.Texts", "count"))
        self.assertGreater(samples, 40)
        for i in range(samples):
            type_name = self.call("fixtures.members.Texts", "type", i)
            text = self.client.request("fixtures.members.Texts.sample", [i])["result"]
            self.assertIsInstance(text, str)
            same = self.call("fixtures.members.Texts", "isSample", i, typed(type_name, text))
            self.assertEqual(same, "true", f"{type_name}: {text}")

    def test_a_long_id_is_sent_once(self):
        """The error has the whole id, and its causes do not repeat it."""
        params = {"type": "fixtures.Throwables", "method": "nested"}
        for length, of_cause in ((254, "x" * 254), (255, None)):  # 256 and 257 characters with its quotes
            request = {"jsonrpc": "2.0", "id": "x" * length, "method": "call", "params": params}
            data = json.loads(self.client.exchange(json.dumps(request)))["error"]["data"]
            self.assertEqual((data["request_id"], data["cause"]["request_id"]), ("x" * length, of_cause))
