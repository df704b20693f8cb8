"""Random chains (batches whose requests name each other's results), and what a peer must answer to each.

A chain is made together with a model of Java's results: lists of numbers, texts and lists. In this way a
wrong value of an answer is detected, not only a wrong form: the result of another request, an object of
another request, a request that ran although a request that it needs had failed, or a request that did not
run. Functions of the client that a chain gives are called in the middle of it; they answer by the model, and
may send chains of their own, nested in that call.
"""

import json

LIST = "java.util.ArrayList"
CALLING = "fixtures.Calling"
TEXT_MAX = 2000
# Escapes, beyond the BMP, characters special to JSON and base64, and the empty text.
TEXTS = ("", "a", "\"\\", "\u00e9\u20ac", "\U0001f600", "\0", "null", "[]", "x" * 300)


class Failed:
    """The result of a failed request: the code, and the words of its error."""

    def __init__(self, code, words):
        self.code, self.words = code, words


NOTHING = object()  # void, or without an answer: cannot be named


def text_of(value):
    """The text that String.valueOf makes."""
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def holds(outer, inner):
    return outer is inner or isinstance(outer, list) and any(holds(each, inner) for each in outer)


def equal(one, other):
    """Compares like Object.equals: 1 is not true."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other


def is_odd(value):
    return type(value) is int and value % 2 == 1


class Chain:
    """ requests: of the batch. give(function) makes an argument of a function of the client's, which receives a
    support.callback_client.Call and returns its answer; nest(call) is called in the middle of some of them. check(answers)
    returns the faults of the answers, one text each.

    The effect of a client's function on a list is known when the chain is made, because functions decide only
    by their arguments.
    """

    def __init__(self, rng, give, nest=lambda call: None, within=None):
        self.rng, self.give, self.nest, self.within = rng, give, nest, within
        self.requests = []
        self.results = {}   # by the id as JSON text: what the model gives
        self.wanted = []    # (id, result, is it an own name) of the requests that are answered
        self.calls = []     # (how often a function has to be called, how often it was called)
        for number in range(rng.randint(1, 14)):
            rng.choice(self.WAYS)(self, number)
        self.add_last()

    # ---- requests ----

    def new_id(self, number):
        return self.rng.choice([number, f"r{number}", number + 0.5, -number - 1, f"\u00e9{number}\"\\"])

    def add(self, number, verb, params, result, **beside):
        """Returns the id, as in `results`."""
        id = self.new_id(number)
        request = {"jsonrpc": "2.0", "id": id, "method": verb, "params": params, **beside}
        options = {**request.get("options", {}), **({"within": self.within} if self.within else {})}
        is_own_name = verb not in ("new", "call")
        if not isinstance(result, Failed) and not is_own_name and self.rng.random() < 0.1:
            options["keep"] = False
        if options:
            request["options"] = options
        if self.rng.random() < 0.04:
            del request["id"]
            self.requests.append(request)
            return
        self.requests.append(request)
        self.wanted.append((id, NOTHING if "keep" in options and not isinstance(result, Failed) else result, is_own_name))
        self.results[json.dumps(id)] = result

    def call(self, number, on, method, args, run, type=LIST):
        """run(): the model's. A receiver or an argument that failed fails the request; `on` and args are (form, value)."""
        parts = [*([on] if on else []), *args]
        result = next((value for _, value in parts if isinstance(value, Failed)), None)
        params = {"type": type, "method": method, "args": [form for form, _ in args]}
        if on:
            params["instance"] = on[0]["ref"]
        self.add(number, "call", params, run() if result is None else Failed(-32000, "depends on failed request"))

    # ---- their arguments ----

    def ids(self, fits):
        return [id for id, value in self.results.items() if fits(value)]

    def named(self, fits):
        """An earlier result as an argument, or None."""
        ids = self.ids(fits)
        if not ids:
            return None
        id = self.rng.choice(ids)
        return {"ref": {"result": json.loads(id)}}, self.results[id]

    def a_list(self):
        """Mostly a list, sometimes a request that has failed; None if there is no result yet."""
        failed = self.named(lambda value: isinstance(value, Failed)) if self.rng.random() < 0.1 else None
        return failed or self.named(lambda value: isinstance(value, list))

    def an_element(self):
        named = self.named(lambda value: value is not NOTHING) if self.rng.random() < 0.6 else None
        if named is not None:
            return named
        value = self.rng.choice([self.rng.randint(-2**31, 2**31 - 1), self.rng.randint(0, 9), self.rng.choice(TEXTS), True, None])
        if self.rng.random() < 0.2:
            form, inner = self.an_element()
            return {"type": LIST, "value": [value, form]}, inner if isinstance(inner, Failed) else [value, inner]
        if value is None:
            return {"type": "java.lang.Object", "value": None}, None
        return value, value

    # ---- kinds of requests ----

    def make_list(self, number):
        self.add(number, "new", {"type": LIST, "args": []}, [])

    def add_element(self, number):
        on, element = self.a_list(), self.an_element()
        if on is None or isinstance(on[1], list) and not self.has_room(on[1], element[1]):
            return

        def run():
            on[1].append(element[1])
            return True
        self.call(number, on, "add", [element], run)

    def has_room(self, to, value):
        """True if no list then contains itself, and no text becomes long."""
        if isinstance(value, Failed):
            return True
        if holds(value, to):
            return False
        to.append(value)
        length = max(len(text_of(each)) for each in self.results.values() if isinstance(each, list))
        to.pop()
        return length < TEXT_MAX

    def get_element(self, number):
        on = self.a_list()
        if on is None:
            return
        at = self.rng.randint(0, 4)
        named = self.named(lambda value: type(value) is int) if self.rng.random() < 0.5 else None
        argument = named or ({"type": "int", "value": at}, at)

        def run():
            if 0 <= argument[1] < len(on[1]):
                return on[1][argument[1]]
            return Failed(-32000, "out of bounds for length")
        self.call(number, on, "get", [argument], run)

    def look(self, number):
        on = self.a_list()
        if on is not None:
            method, run = self.rng.choice([("size", lambda: len(on[1])), ("toString", lambda: text_of(on[1])),
                                           ("isEmpty", lambda: not on[1]), ("clone", lambda: list(on[1]))])
            self.call(number, on, method, [], run)

    def compare(self, number):
        on, other = self.a_list(), self.an_element()
        if on is not None:
            method, run = self.rng.choice([("equals", lambda: equal(on[1], other[1])),
                                           ("contains", lambda: any(equal(each, other[1]) for each in on[1]))])
            self.call(number, on, method, [other], run)

    def of_text(self, number):
        on = self.named(lambda value: isinstance(value, str) and len(value) < TEXT_MAX)
        other = self.named(lambda value: isinstance(value, str) and len(value) < TEXT_MAX)
        if on is None:
            return
        method, args, run = self.rng.choice([("concat", [other], lambda: on[1] + other[1]),
                                             ("length", [], lambda: len(on[1].encode("utf-16-le")) // 2)])
        self.call(number, on, method, args, run, type="java.lang.String")

    def by_own_name(self, number):
        value = self.an_element()
        failed = isinstance(value[1], Failed)
        if value[1] is None or len("" if failed else text_of(value[1])) > TEXT_MAX:
            return
        self.add(number, "java.lang.String.valueOf", [value[0]],
                 Failed(-32000, "depends on failed request") if failed else text_of(value[1]))

    def wrong_name(self, number):
        """An id that no request has, the id of a later request, or an id in an outer batch."""
        self.add(number, "call", {"type": LIST, "method": "size", "args": [], "instance": {"result": f"none{number}"}},
                 Failed(-32602, "no earlier request of this batch has this id"))

    def wrong_result(self, number):
        """A request without a result."""
        named = self.named(lambda value: value is NOTHING)
        if named is not None:
            self.add(number, "java.lang.String.valueOf", [named[0]], Failed(-32602, ""))

    def add_last(self):
        """Ensures that there is an answer."""
        self.requests.append({"jsonrpc": "2.0", "id": "last", "method": "java.lang.String.valueOf", "params": ["end"],
                              **({"options": {"within": self.within}} if self.within else {})})
        self.wanted.append(("last", "end", True))

    # ---- functions of the client ----

    def counted(self, times, answer):
        """A function with this answer. It must be called `times` times."""
        counts = [times, 0]
        self.calls.append(counts)

        def function(call):
            counts[1] += 1
            return answer(call)
        return self.give(function)

    def remove_if(self, number):
        on = self.a_list()
        if on is None or isinstance(on[1], Failed):
            return
        function = self.counted(len(on[1]), lambda call: is_odd(given(call.values[0])))

        def run():
            before = len(on[1])
            on[1][:] = [each for each in on[1] if not is_odd(each)]
            return len(on[1]) < before
        self.call(number, on, "removeIf", [(function, function)], run)

    def sort(self, number):
        on = self.named(lambda value: isinstance(value, list) and value and all(type(each) is int for each in value))
        if on is None:
            return

        def answer(call):
            one, other = map(given, call.values)
            return (one > other) - (one < other)
        function = self.counted(None, answer)

        def run():
            on[1].sort()
            return NOTHING
        self.call(number, on, "sort", [(function, function)], run)

    def ask(self, number):
        value = self.rng.choice([self.rng.randint(0, 10**6), *TEXTS])

        def answer(call):
            self.nest(call)
            return value
        function = self.counted(1, answer)
        self.call(number, None, "here", [(function, function)], lambda: str(value), type=CALLING)

    WAYS = (make_list, make_list, add_element, add_element, add_element, add_element, get_element, look, look, compare,
            of_text, by_own_name, wrong_name, wrong_result, remove_if, sort, ask)

    # ---- the answers ----

    def check(self, answers):
        faults = []
        refs = []  # (list of the model, ref)
        if [each.get("id") for each in answers] != [id for id, _, _ in self.wanted]:
            return [f"answers to {[each.get('id') for each in answers]}, wanted {[id for id, _, _ in self.wanted]}"]
        for answer, (id, result, is_own_name) in zip(answers, self.wanted):
            fault = fault_of(answer, result, is_own_name, refs)
            if fault:
                faults.append(f"{id!r}: {fault}: {json.dumps(answer)[:400]}")
        faults += [f"a function was called {came} times, not {times}" for times, came in self.calls
                   if times is not None and came != times]
        return faults


def given(argument):
    """An argument of a callback in the model's form; lists and others are not distinguished."""
    value = argument.get("value")
    return int(value) if argument["type"] == "java.lang.Integer" else value


def fault_of(answer, result, is_own_name, refs):
    if isinstance(result, Failed):
        error = answer.get("error", {})
        said = str(error.get("data", {}).get("message"))
        return None if error.get("code") == result.code and result.words in said else f"wanted {result.code}, {result.words}"
    if "result" not in answer:
        return "an error"
    got = answer["result"]
    if is_own_name:
        return None if equal(got, result) else f"wanted {result!r}"
    if result is NOTHING:
        return None if got == {"void": True} else "wanted void"
    return fault_of_value(got["value"], result, refs)


def fault_of_value(value, result, refs):
    if value["null"] != (result is None):
        return f"wanted {text_of(result)!r}"
    if isinstance(result, list):
        if value["type"] != LIST or any((known is result) != (ref == value["ref"]) for known, ref in refs):
            return "another object"
        refs.append((result, value["ref"]))
        return None
    if result is not None and value.get("value") != text_of(result):
        return f"wanted {text_of(result)!r}"
    return None
