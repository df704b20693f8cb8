"""Py4J's tutorial, line by line, with jpeer instead of a gateway.

The tutorial's Java program has a Stack class with an entry point and a GatewayServer. Here the class alone is enough:
the peer loads it, and main needs no server.
"""

import os

import jpeer

java = jpeer.launch(classpath=os.environ["JARS"])  # gateway = JavaGateway()

# "Accessing the JVM": random = gateway.jvm.java.util.Random()
random = java.java.util.Random()
number1 = random.nextInt(10)
number2 = random.nextInt(10)
assert 0 <= number1 < 10 and 0 <= number2 < 10

# stack = gateway.entry_point.getStack()
stack = java.py4jtutorial.StackEntryPoint().getStack()
stack.push("First %s" % "item")
stack.push("Second item")
assert stack.pop() == "Second item"
assert stack.pop() == "First item"
assert stack.pop() == ""

# "Collections": a list that the stack keeps
stack.push("First item")
internal_list = stack.getInternalList()
assert len(internal_list) == 1
assert internal_list[0] == "First item"
internal_list.append("Second item")
internal_list.append("Third item")
assert len(internal_list) == 3
assert str(internal_list) == "[First item, Second item, Third item]"
stack.pushAll(internal_list[0:1])
assert internal_list[-1] == "First item"
internal_list.clear()
assert stack.getInternalList().isEmpty()

# Exceptions: Py4JJavaError there, the Java exception itself here
try:
    internal_list.get(7)
except java.java.lang.IndexOutOfBoundsException as error:
    assert "7" in str(error)

# "Arrays": int_array = gateway.new_array(gateway.jvm.int, 2)
int_array = java.array("int", 2)
int_array[0] = 1
int_array[1] = 2
assert int_array[0] == 1
try:
    int_array[2]
except IndexError:
    pass
else:
    raise AssertionError("it has two elements")
assert [number for number in int_array] == [1, 2]
string_array = java.array("java.lang.String", 2, 3)
assert len(string_array) == 2 and len(string_array[0]) == 3
string_array[0][1] = "hello"
assert string_array[0][1] == "hello"
assert string_array[0][0] is None

# "List"
a_list = java.java.util.ArrayList()
a_list.append(1)
a_list.add("hello")
assert [element for element in a_list] == [1, "hello"]
a_list[0] = 2
a_list.append(3)
copied = a_list[0:-1]
copied[0] = 999
assert a_list == [2, "hello", 3] and copied == [999, "hello"]
del a_list[0]
assert a_list == ["hello", 3]

# "Set"
a_set = java.java.util.HashSet()
a_set.add(1)
a_set.add("hello")
assert 1 in a_set and a_set == {1, "hello"}
a_set.remove("hello")
assert a_set == {1}

# "Map"
a_map = java.java.util.HashMap()
a_map["a"] = 0
a_map.put("b", 1)
assert a_map == {"a": 0, "b": 1} and "b" in a_map
del a_map["a"]
assert a_map == {"b": 1}
a_map["c"] = 2
assert sorted(a_map) == ["b", "c"]

# "Implementing Java interfaces from Python": an operator, called by Java


@jpeer.implements("java.util.function.Function")
class PrefixedBy:
    def __init__(self, prefix):
        self.prefix = prefix

    def apply(self, value):
        return self.prefix + value


upper = java.java.util.function.Function.identity().andThen(PrefixedBy("> "))
assert upper.apply("quoted") == "> quoted"

# "Converting Python collections": set_max = gateway.jvm.java.util.Collections.max({1, 2, 3})
assert java.java.util.Collections.max({1, 2, 3}) == 3

# "Finding out": gateway.help(stack)
assert "push" in dir(stack)

java.close()  # gateway.shutdown()
print("Py4J's tutorial, line by line: passed")
