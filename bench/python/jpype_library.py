"""JPype: the JVM is in this process."""

import jpype


class Library:
    DOUBLES = None

    def __init__(self):
        jpype.startJVM()
        self.java = jpype.JPackage("java")

    def add(self):
        return self.java.lang.Math.addExact

    def facts(self, add):
        return {}

    def copy_doubles(self, numbers):
        there = jpype.JArray(jpype.JDouble)(numbers)
        return memoryview(self.java.util.Arrays.copyOf(there, len(numbers)))

    def array_list(self, numbers):
        return self.java.util.ArrayList(numbers)

    copy_list = array_list

    def sort(self, numbers, compare):
        numbers.sort(jpype.JProxy("java.util.Comparator", dict={"compare": compare}))

    def close(self):
        jpype.shutdownJVM()
