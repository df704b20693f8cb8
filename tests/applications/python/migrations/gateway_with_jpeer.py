"""A gateway with callbacks by jpeer: gateway_with_py4j.py after its migration.

Changes:
- `launch_gateway`, `JavaGateway`, `GatewayParameters`, the callback server and `resetCallbackClient` are
`jpeer.launch`; `java_import` is an import from `jpeer.`, and `jvm.X` is `java.X`.
- `class Java: implements = [...]` is `@jpeer.implements(...)`. A function replaces a class of one method.
- A default method that a class lacks runs in Java. `equals`, `hashCode` and `toString` may be Python's `__eq__`,
`__hash__` and `__str__`. A listener is found without them, because it is one object in Java, and Java returns the same
Python object.
- `ListConverter` and `SetConverter` are removed, and `new_array` in most places. A list that Java changes is an
ArrayList.
- `Py4JJavaError` is the Java exception by its class, with the Python exception as its cause. `is_instance_of` is
`isinstance`.
"""

import os
import threading

import jpeer

TICKS = 200
java = jpeer.launch(classpath=os.environ["JARS"])

from jpeer.java.lang import IndexOutOfBoundsException, Math, System  # noqa: E402
from jpeer.java.util import ArrayList, Arrays, Collections, HashMap, List  # noqa: E402
from jpeer.shop import Exchange  # noqa: E402


@jpeer.implements(Exchange.Listener)
class Recorder:
    def __init__(self, fee=None):
        self.fee = fee
        self.seen = []
        self.threads = set()

    def priceChanged(self, exchange, name, cents):
        self.seen.append((name, cents))
        self.threads.add(threading.current_thread())
        if name == "nested" and cents > 1:
            exchange.set(name, cents - 1)
        if name == "fail":
            raise ValueError("no such price")

    def feeFor(self, name):
        return self.fee

    def __str__(self):
        return f"Recorder {self.fee}"


def by_length(left, right):
    return (len(left) > len(right)) - (len(left) < len(right))


def listen():
    exchange = Exchange()
    first, second = Recorder(), Recorder(fee=3)
    exchange.addListener(first)
    exchange.addListener(second)
    exchange.set("tea", 250)
    exchange.set("coffee", 2**40)
    assert first.seen == second.seen == [("tea", 250), ("coffee", 2**40)], first.seen
    assert first.threads == {threading.current_thread()}
    assert exchange.fees("tea") == 3
    assert exchange.getPrices() == {"tea": 250, "coffee": 2**40}
    assert exchange.getListeners().get(1) is second and exchange.getListeners().toString() == "[Recorder None, Recorder 3]"
    assert exchange.removeListener(first) and not exchange.removeListener(first)
    alone, nested = Exchange(), Recorder()
    alone.addListener(nested)
    alone.set("nested", 4)
    assert nested.seen == [("nested", number) for number in (4, 3, 2, 1)], nested.seen
    print("heard", len(nested.seen), sorted(exchange.getPrices().keySet()))


def hear_from_java():
    """Called on a Java thread: the package has threads for such calls."""
    exchange = Exchange()
    recorder = Recorder()
    exchange.addListener(recorder)
    exchange.run("tick", TICKS).join()
    assert recorder.seen == [("tick", number) for number in range(1, TICKS + 1)], len(recorder.seen)
    assert threading.current_thread() not in recorder.threads
    print("ticks", len(recorder.seen))


def fail():
    exchange = Exchange()
    exchange.addListener(Recorder())
    try:
        exchange.set("fail", 1)
    except Exchange.RefusedException as error:
        assert error.getMessage() == "fail at 1 was refused"
        assert isinstance(error.__cause__, ValueError) and str(error.__cause__) == "no such price", error.__cause__
    else:
        raise AssertionError("the listener fails")
    try:
        ArrayList().get(3)
    except IndexOutOfBoundsException as error:
        print("refused:", error.getMessage())
    else:
        raise AssertionError("the list is empty")


def pass_functions():
    exchange = Exchange()
    names = ["tea", "coffee", "water"]
    labels = exchange.labels(names, lambda name: f"<{name}>")
    assert labels == ["<tea>", "<coffee>", "<water>"] and isinstance(labels, List)
    assert exchange.best(names, by_length) == "coffee"
    mixed = ArrayList([3, "x"])
    mixed.append(2.5)
    assert [each for each in mixed] == [3, "x", 2.5] and mixed[-1] == 2.5 and len(mixed) == 3
    assert Collections.max({1, 2, 3}) == 3
    print("functions", list(labels))


def pass_arrays():
    data = bytes(range(256)) * 4
    counts = Exchange().histogram(data, 8)
    assert list(counts) == [128] * 8
    numbers = java.array("int", [5 - index for index in range(5)])
    Arrays.sort(numbers)
    assert list(numbers) == [1, 2, 3, 4, 5]
    texts = java.array("java.lang.String", 2)
    texts[0], texts[1] = "a", "b"
    assert list(texts) == ["a", "b"]
    mapped = HashMap()
    mapped["a"] = 1
    mapped.put("b", None)
    assert "a" in mapped and mapped["b"] is None and len(mapped) == 2
    assert System.getProperty("java.version") is not None and Math.max(3, 5) == 5
    print("arrays", sum(counts), Arrays.toString(numbers))


with java:
    for step in (listen, hear_from_java, fail, pass_functions, pass_arrays):
        step()
print("a gateway with callbacks: 5 parts")
