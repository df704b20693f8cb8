"""Calls Java through Py4J, with a gateway of its own. The arguments: Py4J's jar, and the cores for the JVM and for this
process."""

import os
from array import array

from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError


class Comparator:
    def __init__(self, compare):
        self.compare = compare

    class Java:
        implements = ["java.util.Comparator"]


class Library:
    DOUBLES = 1000  # fewer than for the other libraries, because each element needs a call

    def __init__(self, jar, server_core, client_core):
        os.sched_setaffinity(0, {int(server_core)})
        port, token = launch_gateway(jarpath=jar, enable_auth=True, die_on_exit=True)
        os.sched_setaffinity(0, {int(client_core)})
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token),
                                   callback_server_parameters=CallbackServerParameters(port=0))
        java_server = self.gateway.java_gateway_server
        java_server.resetCallbackClient(java_server.getCallbackClient().getAddress(),
                                        self.gateway.get_callback_server().get_listening_port())
        self.jvm = self.gateway.jvm
        self.java = self.jvm.java

    def add(self):
        return self.java.lang.Math.addExact

    def facts(self, add):
        return {}

    def copy_doubles(self, numbers):
        there = self.gateway.new_array(self.jvm.double, len(numbers))
        for index, number in enumerate(numbers):
            there[index] = number
        return list(there)

    def copy_doubles_as_bytes(self, numbers):
        """Py4J sends bytes in one piece; the JDK converts them to doubles."""
        nio = self.java.nio
        order = nio.ByteOrder.nativeOrder()
        there = self.gateway.new_array(self.jvm.double, len(numbers))
        nio.ByteBuffer.wrap(numbers.tobytes()).order(order).asDoubleBuffer().get(there)
        buffer = nio.ByteBuffer.allocate(8 * len(numbers)).order(order)
        buffer.asDoubleBuffer().put(there)
        return array("d", buffer.array())

    def array_list(self, numbers):
        made = self.java.util.ArrayList()
        for number in numbers:
            made.add(number)
        return made

    def hash_map(self, entries):
        made = self.java.util.HashMap()
        for key, value in entries.items():
            made[key] = value
        return made

    def entries(self, there):
        return dict(there)

    def parser(self):
        return self.java.lang.Integer.parseInt

    def number_error(self):
        return Py4JJavaError  # its cause is the Java exception, which shows the class

    def object_class(self):
        return self.java.lang.Object

    def copy_list(self, numbers):
        return self.java.util.ArrayList(numbers)

    def sort(self, numbers, compare):
        # numbers.sort cannot be used: in Py4J this name is the sort method of Python's lists.
        self.java.util.Collections.sort(numbers, Comparator(compare))

    def close(self):
        self.gateway.shutdown()
