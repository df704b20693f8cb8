"""Calls Java through JPype, whose JVM is in this process."""

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

    def hash_map(self, entries):
        return self.java.util.HashMap(entries)

    def entries(self, there):
        return {str(entry.getKey()): int(entry.getValue()) for entry in there.entrySet()}

    def parser(self):
        return self.java.lang.Integer.parseInt

    def number_error(self):
        return self.java.lang.NumberFormatException

    def object_class(self):
        return self.java.lang.Object

    def sort(self, numbers, compare):
        numbers.sort(jpype.JProxy("java.util.Comparator", dict={"compare": compare}))

    def close(self):
        jpype.shutdownJVM()
