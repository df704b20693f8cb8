"""A gateway with callbacks by Py4J. Its Java part is java/gateway/shop/Exchange.java. gateway_with_jpeer.py is the same
program by jpeer."""

import os
import threading
import time

from py4j.java_collections import ListConverter, SetConverter
from py4j.java_gateway import (CallbackServerParameters, GatewayParameters, JavaGateway, is_instance_of, java_import,
                               launch_gateway)
from py4j.protocol import Py4JJavaError

TICKS = 200
gateway_port, token = launch_gateway(classpath=os.environ["JARS"], enable_auth=True, die_on_exit=True)
gateway = JavaGateway(gateway_parameters=GatewayParameters(port=gateway_port, auth_token=token, auto_convert=False),
                      callback_server_parameters=CallbackServerParameters(port=0))
server = gateway.java_gateway_server
server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway.get_callback_server().get_listening_port())
jvm = gateway.jvm
java_import(jvm, "java.util.*")
java_import(jvm, "shop.Exchange")


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

    def equals(self, other):
        return self.fee == 77

    def hashCode(self):
        return 5

    def toString(self):
        return f"Recorder {self.fee}"

    class Java:
        implements = ["shop.Exchange$Listener"]


class Label:
    def apply(self, name):
        return f"<{name}>"

    class Java:
        implements = ["java.util.function.Function"]


class ByLength:
    def compare(self, left, right):
        return (len(left) > len(right)) - (len(left) < len(right))

    class Java:
        implements = ["java.util.Comparator"]


def to_java(names):
    return ListConverter().convert(names, gateway._gateway_client)


def listen():
    exchange = jvm.Exchange()
    first, second = Recorder(), Recorder(fee=3)
    exchange.addListener(first)
    exchange.addListener(second)
    exchange.set("tea", 250)
    exchange.set("coffee", 2**40)
    assert first.seen == second.seen == [("tea", 250), ("coffee", 2**40)], first.seen
    assert exchange.fees("tea") == 3
    assert dict(exchange.getPrices()) == {"tea": 250, "coffee": 2**40}
    assert str(exchange.getListeners().get(1)) == "Recorder 3"
    # A proxy is a new object each time: only equals finds it again.
    found = Recorder(fee=77)
    exchange.addListener(found)
    assert exchange.removeListener(found)
    alone, nested = jvm.Exchange(), Recorder()
    alone.addListener(nested)
    alone.set("nested", 4)
    assert nested.seen == [("nested", number) for number in (4, 3, 2, 1)], nested.seen
    print("heard", len(nested.seen), sorted(exchange.getPrices().keySet()))


def hear_from_java():
    """Called on a Java thread: the callback server has threads for such calls."""
    exchange = jvm.Exchange()
    recorder = Recorder()
    exchange.addListener(recorder)
    ticker = exchange.run("tick", TICKS)
    until = time.monotonic() + 60
    while len(recorder.seen) < TICKS and time.monotonic() < until:
        time.sleep(0.01)
    ticker.join()
    assert recorder.seen == [("tick", number) for number in range(1, TICKS + 1)], len(recorder.seen)
    assert threading.current_thread() not in recorder.threads
    print("ticks", len(recorder.seen))


def fail():
    exchange = jvm.Exchange()
    exchange.addListener(Recorder())
    try:
        exchange.set("fail", 1)
    except Py4JJavaError as error:
        thrown = error.java_exception
        assert thrown.getMessage() == "fail at 1 was refused" and is_instance_of(gateway, thrown, "shop.Exchange$RefusedException")
        assert "no such price" in thrown.getCause().getMessage()
    else:
        raise AssertionError("the listener fails")
    try:
        jvm.ArrayList().get(3)
    except Py4JJavaError as error:
        assert error.java_exception.getClass().getName() == "java.lang.IndexOutOfBoundsException"
        print("refused:", error.java_exception.getMessage())
    else:
        raise AssertionError("the list is empty")


def pass_functions():
    exchange = jvm.Exchange()
    names = ["tea", "coffee", "water"]
    labels = exchange.labels(to_java(names), Label())
    assert list(labels) == ["<tea>", "<coffee>", "<water>"] and is_instance_of(gateway, labels, "java.util.List")
    assert exchange.best(to_java(names), ByLength()) == "coffee"
    mixed = to_java([3, "x"])
    mixed.append(2.5)
    assert [each for each in mixed] == [3, "x", 2.5] and mixed[-1] == 2.5 and len(mixed) == 3
    unique = SetConverter().convert({1, 2, 3}, gateway._gateway_client)
    assert jvm.Collections.max(unique) == 3
    print("functions", list(labels))


def pass_arrays():
    data = bytes(range(256)) * 4
    counts = jvm.Exchange().histogram(bytearray(data), 8)
    assert list(counts) == [128] * 8
    numbers = gateway.new_array(jvm.int, 5)
    for index in range(5):
        numbers[index] = 5 - index
    jvm.Arrays.sort(numbers)
    assert list(numbers) == [1, 2, 3, 4, 5]
    texts = gateway.new_array(jvm.String, 2)
    texts[0], texts[1] = "a", "b"
    assert list(texts) == ["a", "b"]
    mapped = jvm.HashMap()
    mapped["a"] = 1
    mapped.put("b", None)
    assert "a" in mapped and mapped["b"] is None and len(mapped) == 2
    assert jvm.System.getProperty("java.version") is not None and jvm.Math.max(3, 5) == 5
    print("arrays", sum(counts), jvm.Arrays.toString(numbers))


try:
    for step in (listen, hear_from_java, fail, pass_functions, pass_arrays):
        step()
finally:
    gateway.shutdown()
print("a gateway with callbacks: 5 parts")
