"""client.py LIBRARY WORKLOAD WARM_SECONDS ARGUMENT...: one workload through one library, in its own process.

LIBRARY is a module of this folder. Its class Library takes the arguments and calls Java. The program is warm
when it writes "ready". From then on it answers each line, a number of seconds, by a line of JSON: `figure`,
and `count` (the number of elements) if the figure is about several elements. The program ends when its input
ends.
"""

import importlib
import json
import os
import subprocess
import sys
import time
from array import array
from pathlib import Path
from random import Random

DOUBLES = 1000000
LISTED = 10000
ENTRIES = 5000


def timed(function, *arguments):
    """Calls the function. Returns the milliseconds, and the function's result."""
    began = time.perf_counter()
    returned = function(*arguments)
    return (time.perf_counter() - began) * 1e3, returned


class Workload:
    """Calls Java through a library, whose constructor gets the arguments of the program."""

    def __init__(self, library):
        self.library = library

    @classmethod
    def create(cls, module, arguments):
        return cls(importlib.import_module(module).Library(*arguments))

    def close(self):
        self.library.close()

    def warm(self, seconds):
        """Runs the workload at least once, and until `seconds` have passed."""
        end = time.monotonic() + seconds
        while True:
            self.run(end - time.monotonic())
            if time.monotonic() >= end:
                break


class Repeated(Workload):
    """Repeats one short step. The figure is the p50 in microseconds."""

    def run(self, seconds):
        step, clock, elapsed = self.step, time.perf_counter_ns, []
        end = clock() + seconds * 1e9
        while True:
            began = clock()
            step()
            ended = clock()
            elapsed.append(ended - began)
            if ended > end:
                break
        elapsed.sort()
        return {"figure": elapsed[len(elapsed) // 2] / 1e3, **self.facts()}

    def facts(self):
        return {}


class Add(Repeated):
    """Calls a method that is already bound."""

    def __init__(self, library):
        super().__init__(library)
        self.add = add = library.add()

        def step():
            total = add(1, 2)
            if total != 3:
                raise AssertionError(f"1 + 2 is {total}")

        self.step = step

    def facts(self):
        return self.library.facts(self.add)


class Exceptions(Repeated):
    """Calls a method that throws, and catches the exception by its Java class."""

    def __init__(self, library):
        super().__init__(library)
        parse, error = library.parser(), library.number_error()

        def step():
            try:
                parse("x")
            except error:
                return
            raise AssertionError("x is a number")

        self.step = step


class New(Repeated):
    """Makes an object, and drops it in Python."""

    def __init__(self, library):
        super().__init__(library)
        self.step = library.object_class()


class Doubles(Workload):
    """Sends numbers as a double[], and gets a copy back. The figure is in milliseconds."""

    METHOD = "copy_doubles"

    def __init__(self, library):
        super().__init__(library)
        self.copy = getattr(library, self.METHOD)
        self.count = self.count_for(library)
        self.numbers = array("d", map(float, range(self.count)))

    def count_for(self, library):
        return library.DOUBLES or DOUBLES

    def run(self, seconds):
        elapsed, back = timed(self.copy, self.numbers)
        if len(back) != self.count or any(map(float.__ne__, back, self.numbers)):
            raise AssertionError("the numbers were not returned")
        return {"figure": elapsed, "count": self.count}


class DoublesAsBytes(Doubles):
    """The same, with Py4J's special form for bytes."""

    METHOD = "copy_doubles_as_bytes"

    def count_for(self, library):
        return DOUBLES


class Listed(Workload):
    """The base class of workloads with an ArrayList of Integers. All libraries get the same numbers. The figure is in
    ms."""

    def __init__(self, library):
        super().__init__(library)
        self.fill(Random(1).sample(range(10 * LISTED), LISTED))

    def fill(self, numbers):
        self.numbers = numbers
        self.list = self.library.array_list(numbers)

    def warm(self, seconds):
        """Runs with a tenth of the numbers, because through Py4J all of them need seconds."""
        numbers, in_java = self.numbers, self.list
        self.fill(numbers[:LISTED // 10])
        super().warm(seconds)
        self.numbers, self.list = numbers, in_java


class Iterate(Listed):
    """Reads all elements in a loop."""

    def run(self, seconds):
        elapsed, elements = timed(lambda: [element for element in self.list])
        if elements != self.numbers:
            raise AssertionError("other elements")
        return {"figure": elapsed}


class Sort(Listed):
    """Sorts a copy with ArrayList.sort and a comparator in Python."""

    def run(self, seconds):
        numbers = self.library.copy_list(self.list)
        elapsed, _ = timed(self.library.sort, numbers, lambda left, right: (left > right) - (left < right))
        places = range(0, len(self.numbers), LISTED // 100)
        if [numbers.get(place) for place in places] != [sorted(self.numbers)[place] for place in places]:
            raise AssertionError("not sorted")
        return {"figure": elapsed}


class Entries(Workload):
    """Makes a dict of a HashMap's entries. The figure is in milliseconds."""

    def __init__(self, library):
        super().__init__(library)
        self.entries = {str(number): number for number in range(ENTRIES)}
        self.map = library.hash_map(self.entries)

    def run(self, seconds):
        elapsed, entries = timed(self.library.entries, self.map)
        if entries != self.entries:
            raise AssertionError("other entries")
        return {"figure": elapsed}


class Step(Workload):
    """Runs start.py, which starts a JVM, calls it once, and ends it. The figure is the milliseconds of one of these
    steps."""

    NAME = None

    def __init__(self, line):
        self.line = line

    @classmethod
    def create(cls, module, arguments):
        return cls([sys.executable, Path(__file__).with_name("start.py"), module, *arguments])

    def warm(self, seconds):
        self.run(0)

    def run(self, seconds):
        with_bytecode = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(self.line, capture_output=True, text=True, check=True, env=with_bytecode)
        return {"figure": json.loads(done.stdout)[self.NAME]}

    def close(self):
        pass


class Import(Step):
    NAME = "import"


class Start(Step):
    NAME = "start"


class Close(Step):
    NAME = "close"


WORKLOADS = {"add": Add, "exception": Exceptions, "new": New, "entries": Entries, "import": Import, "start": Start, "close": Close,
             "doubles": Doubles, "doubles-as-bytes": DoublesAsBytes, "iterate": Iterate, "sort": Sort}


def main():
    module, workload, warm_seconds, *arguments = sys.argv[1:]
    work = WORKLOADS[workload].create(module, arguments)
    work.warm(float(warm_seconds))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(work.run(float(line))), flush=True)
    work.close()


if __name__ == "__main__":
    main()
