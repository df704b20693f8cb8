"""A hostile peer: a malformed answer is a ProtocolError, and has no other effect."""

import copy
import decimal
import json
import random
import subprocess
import sys
import textwrap
import time
import traceback
import unittest

import jpeer
from support import ROOT, SECONDS

sys.path.append(str(ROOT / "tests/support"))
from hostile_peer import HostilePeer, description, reference_to, result, usual, value_of  # noqa: E402

METHOD = {"name": "run", "modifiers": "public", "isStatic": True, "returnType": "int", "parameters": []}


class Hostile(unittest.TestCase):
    def connect(self, reply, timeout=SECONDS):
        peer = HostilePeer(lambda asked, _: [reply(each) for each in asked] if isinstance(asked, list) else usual(asked) or reply(asked))
        self.addCleanup(lambda: self.assertEqual(peer.faults, []))
        self.addCleanup(peer.close)
        java = jpeer.connect(peer.url, timeout=timeout)
        self.addCleanup(java.close)
        return java

    def connect_to(self, value=None, **classes):
        """Connects to a peer that describes the class Evil with these changes, and answers every call with the
        value."""

        def reply(request):
            if request["method"] == "jpeer.describe":
                name = request["params"].get("type", "Evil")
                return result(request, description(name, **classes) if name == "Evil" else description(name))
            return result(request, value)

        return self.connect(reply)

    def call(self, value):
        java = self.connect_to(value)
        return java._connection.call("Evil", "run", None, ())


class Answers(Hostile):
    def test_a_malformed_answer_is_a_protocol_error(self):
        for at, value in enumerate((
            {}, None, 5, [], {"void": False}, {"void": False, "value": 7}, value_of(7, "x"),
            value_of("int", "9" * 400), value_of("int", {}), value_of("double", "1e"),
            value_of("java.lang.Integer", []), value_of("boolean", "perhaps"), reference_to("Evil", -1),
            reference_to("Evil", 1 << 40), reference_to("Evil", "5"), reference_to("Evil", 1.5),
            reference_to("no/such name\ud800", 5),
        )):
            with self.subTest(at=at), self.assertRaises(jpeer.ProtocolError):
                print("harmless:", repr(self.call(value))[:100])

    def test_a_malformed_page_is_a_protocol_error(self):
        for page in ([1, 2], {"elements": None, "done": True}, {"elements": "ab", "done": True}, {"elements": [1]},
                     {"elements": [1], "done": "no"}, {}, 5, None):
            with self.subTest(page=page):
                java = self.connect(lambda request, page=page: {"jsonrpc": "2.0", "id": request["id"], "result": page})
                with self.assertRaises(jpeer.ProtocolError):
                    java._connection.fetch("text")

    def hold(self, kind, value):
        """An object of that class from a peer that answers every request about the object with the value."""

        def reply(request):
            if request["method"] == "jpeer.describe":
                parents = {"java.util.ArrayList": "java.util.List", "java.util.HashMap": "java.util.Map"}
                name = request["params"].get("type", kind)
                return result(request, description(name, interfaces=[parents[name]] if name in parents else []))
            return result(request, reference_to(kind, 7) if request["params"].get("method") == "run" else value)

        return self.connect(reply)._connection.call("Evil", "run", None, ())

    def test_a_size_that_is_no_number_is_a_protocol_error(self):
        for value in (value_of("int", "-1"), value_of("java.lang.String", "x"), value_of("double", "2"), value_of("boolean", "true"),
                      value_of("java.math.BigInteger", "9" * 30), {"void": True}):
            for kind in ("java.util.ArrayList", "java.util.HashMap", "[I", "[Ljava.lang.Object;"):
                with self.subTest(kind=kind, value=value):
                    held = self.hold(kind, value)
                    self.assertRaises(jpeer.ProtocolError, len, held)

    def test_an_entry_that_is_no_pair_is_a_protocol_error(self):
        for elements in ([5], [["a", 1], 5], ["ab"], [None], [{"type": "Evil", "ref": 8}]):
            with self.subTest(elements=elements):
                held = self.hold("java.util.HashMap", {"elements": elements, "done": True})
                for use in (dict, list, lambda items: [key for key, _ in items]):
                    with self.assertRaises(jpeer.ProtocolError):
                        use(held.items())

    def test_an_optional_of_unknown_content_is_a_protocol_error(self):
        with self.assertRaises(jpeer.ProtocolError):
            bool(self.hold("java.util.OptionalInt", value_of("int", "5")))

    def test_malformed_stats_are_a_protocol_error(self):
        for value in ("x", "5", "[1]", ""):
            with self.subTest(value=value), self.assertRaises(jpeer.ProtocolError):
                self.connect_to(value_of("java.lang.String", value)).stats()

    def test_a_deep_answer_is_a_protocol_error(self):
        for levels in (290, 299, 2000, 100_000):
            deep = "[" * levels + "]" * levels
            with self.subTest(levels=levels), self.assertRaises(jpeer.ProtocolError):
                self.connect(lambda request, deep=deep: f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{deep}}}').Evil.run()

    def test_the_time_for_a_large_integer_is_bounded(self):
        digits = "9" * 800_000
        seconds = []
        for count in (len(digits) // 8, len(digits)):
            begin = time.process_time()
            made = self.call(reference_to("java.math.BigInteger", 5, value=digits[:count]))
            seconds.append(time.process_time() - begin)
        self.assertEqual(made % 10**9, 999_999_999)
        self.assertEqual(made.bit_length(), 2657543)
        self.assertLess(seconds[1], 40 * max(seconds[0], 0.01))  # quadratic time would be 64 times as much
        more = self.call(reference_to("java.math.BigInteger", 5, value="9" * 2_000_000))
        self.assertIsInstance(more, jpeer.JavaObject)

    def test_a_text_that_is_no_number_stays_an_object(self):
        for text in ("1E+999999999999999999999", "NaN", "sNaN", "Infinity", "1_0", "٣", "", " 1", "+1"):
            for name in ("java.math.BigDecimal", "java.math.BigInteger"):
                with self.subTest(text=text, type=name):
                    made = self.call(reference_to(name, 5, value=text))
                    self.assertIsInstance(made, jpeer.JavaObject)
        self.assertEqual(self.call(reference_to("java.math.BigDecimal", 5, value="-1.50E+7")), decimal.Decimal("-1.50E+7"))


class Descriptions(Hostile):
    def method(self, name, **more):
        return {**METHOD, "name": name, **more}

    def test_members_with_special_names_change_no_class(self):
        names = ["__classcell__", "__del__", "__len__", "__slots__", "__init_subclass__", "__class__", "__dict__", "mro",
                 "__set_name__", "__getattribute__", "__new__", "_java", "_owners", "_connection", "class", "__mro_entries__"]
        java = self.connect_to(value_of("int", "5"), methods=[self.method(each) for each in names],
                               fields=[{"name": each, "modifiers": "public", "isStatic": True} for each in names])
        evil = java.Evil
        self.assertIsInstance(evil, jpeer.JavaClass)
        self.assertTrue(evil)
        self.assertEqual(evil._java_name, "Evil")
        for each in names:
            if each.startswith("__"):
                self.assertNotIn(each, vars(evil) if each not in ("__slots__", "__dict__") else {})
        self.assertEqual(jpeer.call(evil, "__len__"), 5)

    def test_a_malformed_description_is_a_protocol_error(self):
        for changes in (
            {"methods": 5}, {"methods": [5]}, {"methods": [{}]}, {"methods": [self.method(7)]}, {"superclasses": [[]]},
            {"methods": [self.method("a\ud800")]}, {"methods": [self.method("a\0b")]}, {"fields": None},
            {"methods": [self.method("x", parameters=[{}])]}, {"interfaces": "java.util.List"}, {"class": 7},
            {"methods": [self.method("x", isStatic="no")]}, {"class": "a\0b"}, {"nested": {"a": 1}},
            {"class": "\ud800"}, {"modifiers": 7}, {"superclasses": ["Evil"]},
        ):
            with self.subTest(changes=changes), self.assertRaises(jpeer.ProtocolError):
                self.connect_to(value_of("int", "5"), **changes).Evil.run()

    def test_endless_supertypes_are_a_protocol_error(self):
        def circle(request):
            name = request["params"].get("type", "A")
            return result(request, description(name, superclasses=["B" if name == "A" else "A"]))

        def chain(request):
            name = request["params"].get("type", "A")
            return result(request, description(name, superclasses=[name + "x"]))

        for reply in (circle, chain):
            with self.subTest(reply=reply.__name__), self.assertRaises(jpeer.ProtocolError):
                self.connect(reply).A.run()

    def test_a_peer_may_throw_at_every_request(self):
        """The peer also throws at the requests for the class of the throwable and for the loader of that class."""
        for name in ("java.lang.OutOfMemoryError", "app.Odd", "app.Odd\x1b[31m\x9b"):
            def reply(request, name=name):
                if request["method"] == "control":
                    return usual(request)
                data = {"throwable_type": name, "message": "m", "stack_trace": ["a.B\x1b[0m.run(B.java:7)"], "cause": None,
                        "superclasses": ["java.lang.RuntimeException", "java.lang.Exception", "java.lang.Throwable"]}
                return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "Server error", "data": data}}

            with self.subTest(name=name), HostilePeer(lambda asked, _, reply=reply: reply(asked)) as peer, \
                    jpeer.connect(peer.url, timeout=SECONDS) as java:
                with self.assertRaises(jpeer.JavaException) as caught:
                    java.Evil.run()
                self.assertEqual(caught.exception.java_class, name)
                self.assertIn("java.lang.RuntimeException", type(caught.exception)._supertypes)
                self.assertNotRegex("".join(traceback.format_exception(caught.exception)), r"[\x1b\x9b]")

    def test_control_characters_are_escaped(self):
        def reply(request):
            data = {"throwable_type": "a.B\x1b[31m", "message": "m", "stack_trace": [], "superclasses": ["x\0"], "cause": None}
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "Server error", "data": data}}

        with self.assertRaises(jpeer.ProtocolError) as caught:
            self.connect(reply).Evil.run()
        self.assertIn(r"a.B\x1b[31m", str(caught.exception))

    def test_a_class_may_have_many_members(self):
        java = self.connect_to(value_of("int", "5"), methods=[self.method(f"m{each}") for each in range(100_000)])
        self.assertEqual(java.Evil.m99999(), 5)


def session_of(version, **more):
    """The answer to control session, as an object."""
    return json.dumps({"epoch": "42fdda62c61b08da", "client": 1, "message_max": 10**6, "values_max": 10**6, "version": version,
                       "capabilities": ["callbacks"], **more})


class OtherVersions(unittest.TestCase):
    """A peer of another version than this package."""

    def connect(self, session, refusal=None, code=-32602):
        def reply(request):
            if (request.get("params") or {}).get("method") == "session":
                return result(request, value_of("java.lang.String", session))
            if request["method"] != "control" and refusal:
                return {"jsonrpc": "2.0", "id": request["id"],
                        "error": {"code": code, "message": "Invalid", "data": {"message": refusal, "stack_trace": [], "cause": None}}}
            return usual(request)

        peer = self.enterContext(HostilePeer(lambda asked, _: [reply(each) for each in asked] if isinstance(asked, list) else reply(asked)))
        return self.enterContext(jpeer.connect(peer.url, timeout=SECONDS))

    def test_an_older_peer_is_named_with_what_it_lacks(self):
        for refusal, code, lack in (("Unknown option: types", -32602, "types"), ("Invalid method: jpeer.describe", -32600, "describe"),
                                    ("Invalid meta service: list_names", -32601, "list_names")):
            with self.subTest(refusal=refusal):
                java = self.connect(session_of("0.8.1"), refusal, code)
                with self.assertRaises(jpeer.TooOld) as caught:
                    java.type("java.util.ArrayList")
                self.assertEqual(str(caught.exception), f"the peer 0.8.1 has no {lack}; upgrade it")
                self.assertEqual((caught.exception.code, caught.exception.data["message"]), (code, refusal))

    def test_other_refusals_remain_what_they_are(self):
        java = self.connect(session_of("0.8.1"), "Unknown option: types2")
        with self.assertRaises(jpeer.BadArgument) as caught:
            java.type("java.util.ArrayList")
        self.assertEqual(str(caught.exception), "Unknown option: types2")

    def test_a_later_peer_with_the_same_protocol_serves(self):
        self.connect(session_of("9.9.9", protocol=1, capabilities=["callbacks", "later"], later={"a": [1]}))

    def test_a_later_peer_that_no_longer_serves_says_so(self):
        with self.assertRaisesRegex(Exception, "the peer 9.9.9 speaks version 2 of the protocol, and this client version 1; upgrade the client"):
            self.connect(session_of("9.9.9", protocol=2))


class Stack(unittest.TestCase):
    def test_callbacks_that_nest_for_ever_end_with_an_error(self):
        script = textwrap.dedent("""
            import itertools, sys, threading
            sys.path[:0] = {path!r}
            import jpeer
            from hostile_peer import HostilePeer, result, usual, value_of
            numbers = itertools.count(1)
            errors = []
            given = []

            def find(value):
                if isinstance(value, dict):
                    if isinstance(value.get("callback"), int):
                        given.append(value["callback"])
                    for each in value.values(): find(each)
                elif isinstance(value, list):
                    for each in value: find(each)

            waiting = []
            def answer(request, connection):
                if isinstance(request, list):
                    for each in request:
                        if (reply := answer(each, connection)) is not None:
                            connection.send(reply)
                    return None
                if "method" not in request:  # the answer to a call: what waits for it ends
                    errors.append(request.get("error"))
                    connection.send(result(waiting.pop(), value_of("int", "1")))
                    return None
                if usual(request) or "id" not in request:
                    return usual(request) if "id" in request else None
                find(request.get("params"))
                if request["params"].get("method") != "run":  # no class is described, and no throwable made
                    return {{"jsonrpc": "2.0", "id": request["id"], "error": {{"code": -32001, "message": "denied"}}}}
                waiting.append(request)
                connection.send({{"jsonrpc": "2.0", "id": f"cb-{{next(numbers)}}", "method": "callback", "params":
                    {{"callback": given[0], "interface": "java.lang.Runnable", "method": "run", "parameters": [], "args": []}}}})
                return None

            with HostilePeer(answer) as peer:
                java = jpeer.connect(peer.url, timeout=30)
                depth = 0

                def nest():
                    global depth
                    depth += 1
                    java._connection.call("Evil", "run", None, ())

                def run():
                    java._connection.call("Evil", "run", None, (nest,))

                threading.stack_size({size})
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
                assert not peer.faults, peer.faults
                assert 1 <= depth < 1200, depth
                print(depth, errors[0])
        """)
        for size in (256 << 10, 1 << 20, 8 << 20):
            with self.subTest(size=size):
                done = subprocess.run(
                    [sys.executable, "-c", script.format(path=sys.path, size=size)], capture_output=True, text=True,
                    timeout=SECONDS * 2, check=False)
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                self.assertIn("code", done.stdout)


class Mutations(Hostile):
    """Valid answers with members dropped or replaced. A failure names the seed."""

    ATOMS = (None, True, -1, 0, 1 << 31, 1 << 63, 10**400, 1.5, 1e300, "", "x", "\ud800", "\0", "9" * 5000, [], {}, [[]],
             {"ref": 1}, {"type": "Evil"}, "java.util.List", "__class__", {"type": "double", "value": "NaN"})
    SEEDS = (
        value_of("int", "5"), value_of("java.lang.String", "text"), value_of("double", "NaN"), {"void": True},
        reference_to("Evil", 7), reference_to("java.util.ArrayList", 9), reference_to("java.util.HashMap", 9),
        reference_to("java.math.BigDecimal", 9, value="1.5"), reference_to("java.time.Instant", 9, value="2024-02-29T00:00:00Z"),
        value_of("int[]", "[1,2]"), description("Evil", methods=[METHOD]),
        {"elements": [1, "a", {"type": "Evil", "ref": 8}, ["k", "v"]], "done": True, "ref": 5},
    )

    def mutate(self, choose, value):
        value = copy.deepcopy(value)
        places = []

        def walk(inside):
            keys = inside.keys() if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()
            for key in list(keys):
                places.append((inside, key))
                walk(inside[key])

        walk(value)
        for _ in range(choose.randint(0, 3)):
            if not places:
                return choose.choice(self.ATOMS)
            inside, key = choose.choice(places)
            if choose.random() < 0.2 and isinstance(inside, dict):
                inside.pop(key, None)
            elif isinstance(inside, dict) or key < len(inside):
                inside[key] = copy.deepcopy(choose.choice(self.ATOMS))
        return value

    def test_a_mutated_answer_raises_a_documented_error(self, count=1500):
        seed = random.randrange(1 << 30)
        choose = random.Random(seed)

        def reply(request):
            if choose.random() < 0.1:
                fault = {"code": -32000, "message": "m", "data": {"type": "java.lang.Error", "message": "x", "stackTrace": ["a"]}}
                return {"jsonrpc": "2.0", "id": request["id"], "error": self.mutate(choose, fault)}
            if request["method"] == "jpeer.describe" and choose.random() < 0.8:
                name = request["params"].get("type", "Evil")
                return result(request, self.mutate(choose, description(name if isinstance(name, str) else "Evil")))
            return result(request, self.mutate(choose, choose.choice(self.SEEDS)))

        java = None
        allowed = (jpeer.ProtocolError, jpeer.PeerError, jpeer.JavaException, TimeoutError)
        for step in range(count):
            try:
                if java is None:
                    java = self.connect(reply)
                found = java._connection.call("Evil", "run", None, ())
                if isinstance(found, jpeer.JavaObject):
                    repr(found)
                    dir(java.Evil)
                    jpeer.call(java.Evil, "run")
            except jpeer.ProtocolError as why:
                if "answer is malformed" not in str(why) and "description" not in str(why):
                    java = None  # the peer has ended the connection
            except allowed:
                pass
            except Exception as why:
                raise AssertionError(f"seed {seed}, step {step}") from why
