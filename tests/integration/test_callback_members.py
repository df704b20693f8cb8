"""Tests which overload a callback argument chooses, the message that a client receives for a call, and the
effect of each kind of answer.
"""

from support.clients import ref, typed
from support.peer_case import CallbackCase

CALLBACKS = "fixtures.members.Callbacks"
PLAIN = "jpeer.peer.CallbackException"


def usual(call):
    return "me" if call.method in ("greet", "name") else 1


class Members(CallbackCase):
    def setUp(self):
        super().setUp()
        self.calls = []

    def give(self, answer=usual, **beside):
        """A callback whose calls are noted. answer: a function of the call, or the answer itself."""
        def function(call):
            self.calls.append(call)
            return answer(call) if callable(answer) else answer
        return self.client.give(function, **beside)

    def call(self, method, *args):
        return self.client.call(CALLBACKS, method, *args)

    def assert_called(self, interface, method, *values):
        """Compares the arguments of the last call, each as type and text."""
        call = self.calls[-1]
        self.assertEqual((call.interface, call.method), (interface, method))
        self.assertEqual([(value["type"], value.get("value")) for value in call.values], list(values))

    def refusal(self, method, *args):
        error = self.failure(self.call, method, *args)
        return f"{error.code} {error.throwable + ': ' if error.throwable else ''}{error.detail or ''}"

    def assert_row(self, method, args, wanted):
        """wanted: the value, or the beginning of an error."""
        with self.subTest(method=method, args=args):
            if wanted.startswith("-32"):
                self.assertTrue(self.refusal(method, *args).startswith(wanted), self.refusal(method, *args))
            else:
                self.assertEqual(self.call(method, *args), wanted)

    def test_overloads_are_chosen_as_for_a_lambda(self):
        def give(**beside):
            return self.give(lambda call: None if call.method == "run" else 5, **beside)

        none = "-32601 java.lang.NoSuchMethodException: No matching method '{0}' found: "
        ambiguous = none + "ambiguous for (callback): " + CALLBACKS + ".{0}"
        for method, args, wanted in (
                ("map", [give(arity=1)], "function"), ("map", [give(arity=2)], "bifunction"),
                ("map", [give(arity=3)], none + CALLBACKS + ".map(callback); candidates: "), ("map", [give()], ambiguous),
                ("map", [give(type="java.util.function.Function")], "function"),
                ("map", [give(type="java.util.function.BiFunction")], "bifunction"),
                ("map", [give(type="java.lang.Runnable")], "object"),
                ("map", [give(interfaces=["java.lang.Runnable", "java.util.function.BiFunction"])], "bifunction"),
                ("map", [give(interfaces=["java.lang.Runnable", "java.util.Comparator"])], "object"),
                ("either", [give(arity=1)], ambiguous), ("either", [give(type="java.lang.Comparable")], "comparable"),
                ("special", [give(arity=1)], "lengths"), ("special", [give()], "lengths"),
                ("submit", [give(arity=0)], "callable 5"), ("submit", [give()], "callable 5"),
                ("submit", [give(type="java.lang.Runnable")], "runnable"),
                ("hears", [give(), 1], "listener"), ("hears", [give(arity=1), 1], "listener"),
                ("widen", [give(), 1], "long"), ("widen", [give(), "x"], "text"),
                ("only", [give()], "only"), ("only", [give(arity=0)], "only"), ("only", [give(arity=1)], "-32602 "),
                ("object", [give()], "-32601 "), ("object", [give(type="java.lang.Runnable")], "object"),
                ("varied", [1], "1"), ("varied", [1, give()], "6"), ("varied", [1, [give(), give()]], "11"),
                ("varied", [1, give(), give(arity=0), give(type="java.util.concurrent.Callable")], "16"),
                ("varied", [1, give(), give(arity=1)], "-32602 ")):
            for _ in range(2):  # the second time from the cache
                self.assert_row(method, args, wanted.format(method))

    def test_a_call_has_its_arguments_with_their_types(self):
        seven = self.give()
        self.assertEqual(self.call("compare", seven, "a", 3), "1")
        self.assert_called("java.util.Comparator", "compare", ("java.lang.String", "a"), ("java.lang.Integer", "3"))
        self.assertEqual(self.call("compare", seven, None, ["x"]), "1")
        self.assert_called("java.util.Comparator", "compare", ("java.lang.Object", None), ("java.util.ArrayList", None))
        number = self.client.new("java.util.ArrayList")
        self.assertEqual(self.call("compare", seven, ref(number), ["x"]), "1")
        refs = [value["ref"] for value in self.calls[-1].values]
        self.assertEqual(refs[0], number)
        self.assertNotEqual(refs[1], number)
        self.assertEqual(self.call("compareAll", self.give(lambda call: ord(call.args[1]) - ord(call.args[0]))), "[d, c, b, a]")
        self.assertEqual(self.call("greet", seven, "x"), "me")  # of another interface it is another object

    def test_primitives_of_every_kind(self):
        answers = {"boolean": False, "byte": -128, "char": "b", "short": "-3", "int": typed("int", 2147483647),
                   "long": -(1 << 63), "float": 5, "double": 0.5, "[I": [], None: None}
        result = self.call("primitives", self.give(lambda call: answers[call.values[0]["type"] if call.values else None]))
        self.assertEqual(result, "false -128 b -3 2147483647 -9223372036854775808 5.0 0.5 0")
        self.assertEqual(len(self.calls), 10)

    def test_an_answer_that_does_not_fit(self):
        for method, answer, why in (
                ("nextInt", None, "value: null: a primitive cannot be null for int"),
                ("nextInt", 1 << 31, "value: 2147483648: out of range for int"), ("nextInt", "x", 'value: "x":'),
                ("nextInt", {}, "value: a JSON object:"), ("nextInt", typed("no such", 1), "Invalid characters in type"),
                ("nextInt", typed("java.lang.String", 1), "value: 1:"),
                ("nextInt", ref(4711), "No object found with objRef: 4711"),
                ("nothing", 1, "the method returns void: the answer must be null")):
            self.assert_row(method, [self.give(answer)], f"-32000 {PLAIN}: {why}")

    def test_type_variables_decide_what_an_answer_becomes(self):
        self.assertEqual(self.call("length", self.give("4")), "4")
        self.assert_called("java.util.function.Function", "apply", ("java.lang.String", "four"))
        self.assertEqual(self.call("count", self.give("4")), "44")
        self.assert_called(CALLBACKS + "$Counts", "apply", ("java.lang.String", "two"))  # by the bridge of javac
        self.assert_row("bottom", [self.give(lambda call: "x" if call.method == "make" else None)],
                        f'-32000 {PLAIN}: value: "x": java.lang.String does not become java.lang.StringBuilder')
        builder = ref(self.client.new("java.lang.StringBuilder", "b"))
        answers = {"make": builder, "makeMany": [None, None], "list": [None]}
        self.assertEqual(self.call("bottom", self.give(lambda call: answers.get(call.method, 9))), "b929[null]")

    def test_errors_are_thrown(self):
        io, error, text = (ref(self.client.new(name, *args)) for name, *args in (
            ("java.io.IOException", "held"), ("java.lang.AssertionError", "held"), ("java.lang.StringBuilder",)))
        for message, data, undeclared, declared in (
                ("oops", {}, f"unchecked {PLAIN}: oops", None),
                ("m", io, "undeclared java.io.IOException: held", "caught java.io.IOException: held"),
                ("m", {**error, "throwable_type": "java.io.IOException"}, "unchecked java.lang.AssertionError: held", None),
                ("m", text, f"unchecked {PLAIN}: m", None),
                ("m", {**text, "throwable_type": "java.io.IOException"}, "undeclared java.io.IOException: m",
                 "caught java.io.IOException: m"),
                ("m", {"throwable_type": "java.lang.IllegalStateException"}, "unchecked java.lang.IllegalStateException: m", None),
                *(("m", {"throwable_type": name}, f"unchecked {PLAIN}: m", None) for name in (
                    "java.lang.StringBuilder", "java.lang.Number", "no.such.Thing", "no such thing", "int[]", "")),
                ("m", ref(4711), f"unchecked {PLAIN}: m", None)):
            for method_declares, wanted in ((False, undeclared), (True, declared or undeclared)):
                with self.subTest(data=data, declares=method_declares):
                    held = self.client.give()
                    number = self.client.begin_call(CALLBACKS, "throwing", held, method_declares)
                    self.client.await_call().fail(message, **data)
                    self.assertEqual(self.client.end(number), wanted)
        number = self.client.begin_call(CALLBACKS, "codeOf", self.client.give())
        self.client.await_call().fail("no")
        self.assertEqual(self.client.end(number), "-5")

    def test_default_methods_run_in_java(self):
        for method, wanted in (("greeter", "hello me"), ("repeat", "ABABme"), ("fail", "me"), ("greetTwice", "me, me")):
            self.assertEqual(self.call(method, self.give()), wanted)
        self.assertEqual(self.call("greeter", self.give(type=CALLBACKS + "$Loud")), "HELLO me")
        self.assertEqual(self.call("greeter", self.give(type=CALLBACKS + "$Mute")), "me")
        self.assert_called(CALLBACKS + "$Mute", "greet")
        self.assertEqual(self.call("greeter", self.give(overrides=["greet"])), "me")
        self.assert_called(CALLBACKS + "$Greeter", "greet")
        self.assertEqual(self.call("repeat", self.give(overrides=["greet"])), "ABABme")
        for overrides, wanted in ((["serialize"], "3; 2"), (["serialize/3"], "3; 2"), (["serialize/2"], "headers: 2; 2")):
            given = self.give(lambda call: str(len(call.args)), overrides=overrides)
            self.assertEqual(self.call("serialize", given), wanted)

    def test_of_several_interfaces_the_lowest_method_counts(self):
        greeter, loud, other = (f"{CALLBACKS}${name}" for name in ("Greeter", "Loud", "Other"))
        for names in ([greeter, loud], [loud, greeter]):
            self.assertEqual(self.call("greeter", self.give(interfaces=names)), "HELLO me")
        both = self.give(interfaces=[other, loud])  # neither is a subtype of the other: a class would have to choose
        self.assertEqual([self.call("other", both), self.call("greeter", both)], ["me", "me"])
        self.assertEqual(self.call("both", self.give(interfaces=["java.util.concurrent.Callable", "java.util.Comparator"])), "1")
        self.assert_called("java.util.concurrent.Callable", "call")

    def test_methods_of_object_are_answered_in_java(self):
        seven = self.give(number=7)
        self.assertEqual(self.call("odd", seven, seven), "true false false true callback 7 1")
        self.assertEqual(len(self.calls), 1)
        one = self.give()
        self.assertEqual(self.call("inMaps", one, one, self.give()), "sameother22truefalse")
        self.assertEqual(len(self.calls), 1)

    def test_handlers_and_natives_check_what_they_are_given(self):
        refused = "IllegalArgumentException "
        self.assertEqual(self.call("misuse", self.give(), self.give()), refused * 8 + "CallbackException CallbackException 1")
        self.assertRegex(self.call("natives", self.give(), self.give()), "^" + refused * 18 + r"null \d+ me$")

    def test_what_can_be_no_proxy_is_refused(self):
        for type_name, wanted in (
                ("java.lang.Runnable[]", "-32602 argument 0: callback "), ("int", "-32602 argument 0: callback "),
                ("java.lang.Object", "-32602 argument 0: callback "), (CALLBACKS + "$Closed", "-32602 argument 0: callback "),
                ("no.such.Interface", "-32601 java.lang.ClassNotFoundException: no.such.Interface")):
            self.assert_row("object", [self.give(type=type_name)], wanted)
        for names, why in ((["java.lang.Runnable"] * 2, "repeated interface: java.lang.Runnable"),
                           (["java.lang.Runnable", "java.lang.String"], "java.lang.String is no interface"),
                           (["java.lang.Runnable", "no.such.Thing"], "no.such.Thing"),
                           (["java.util.stream.Sink", CALLBACKS + "$Secret"], "non-public interface")):
            self.assertIn(why, self.refusal("both", self.give(interfaces=names)))
        self.assertIn("is sealed", self.refusal("closed", self.give()))
        self.assertEqual(self.calls, [])

    def test_interfaces_that_are_not_public(self):
        self.assertEqual(self.call("greet", self.give(), "you"), "me")
        self.assert_called(CALLBACKS + "$Secret", "greet", ("java.lang.String", "you"))
        self.assertEqual(self.call("inner", self.give()), "1")

    def test_lists_may_hold_callbacks(self):
        self.assertEqual(self.call("list", [1, self.give(type="java.util.Comparator"), "x"]), "1 comparator x ")
        self.assertEqual(self.call("list", [1, self.give(interfaces=["java.util.Comparator"])]), "1 comparator ")
        self.assertIn("a callback is seen", self.refusal("list", [self.give()]))

    def test_a_result_may_call_back_while_it_is_read(self):
        """During the callback the client may also send requests."""
        def function(call):
            self.assertEqual(self.call("use", self.give(lambda inner: typed("int", 12))), "12")
            return typed("int", 2)
        lazy = self.call("lazy", self.give(function))
        reply = self.client.request("java.util.Objects.requireNonNull", [ref(lazy)])
        self.assertEqual(reply["result"], [2, 2])


class FullSession(CallbackCase):
    options = ("--session-max-objects", "1")

    def test_a_session_without_room_for_an_argument_fails_the_call(self):
        self.client.new("java.lang.Object")
        error = self.assert_fails(-32000, "session-max-objects", self.client.call, CALLBACKS, "compare",
                                  self.client.give(lambda call: 1), 1, ["x"])
        self.assertEqual(error.throwable, PLAIN)
