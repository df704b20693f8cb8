"""Clojure from Python by its Java API: functions, endless sequences, maps and keywords."""

import os
from itertools import islice

import jpeer


@jpeer.implements("clojure.lang.IFn")
class Counted:
    """A Python function that Clojure calls with one or two arguments."""

    calls = 0

    def invoke(self, first, second=0):
        Counted.calls += 1
        return first * first + second


def use_sequences(core):
    numbers = core("iterate")(core("inc").fn(), 0)
    assert list(islice(numbers, 5)) == [0, 1, 2, 3, 4]
    assert list(core("take")(3, core("drop")(100_000, numbers))) == [100_000, 100_001, 100_002]
    squares = core("map")(Counted(), numbers)
    assert Counted.calls == 0, "the sequence is lazy"
    assert list(core("take")(6, squares)) == [0, 1, 4, 9, 16, 25]
    assert Counted.calls < 100, Counted.calls
    assert core("reduce")(Counted(), [1, 2, 3]) == (1 * 1 + 2) ** 2 + 3
    assert core("nth")(numbers, 70) == 70


def use_maps(java, Clojure, core):
    keyword = java.clojure.lang.Keyword.intern
    read = Clojure.read('{:name "Ada" :langs [:clj 3 2.5 1/3 nil true] "text" #{1 2}}')
    name, langs = keyword("name"), keyword("langs")
    assert read[name] == "Ada" and name in read and keyword("none") not in read
    assert name == Clojure.read(":name") and {name: 1}[Clojure.read(":name")] == 1
    assert jpeer.same(name, Clojure.read(":name")) and str(name) == ":name"
    first, three, half, third, nothing, yes = read[langs]
    assert (str(first), three, half, nothing, yes) == (":clj", 3, 2.5, None, True)
    assert str(third) == "1/3" and third.doubleValue() == 1 / 3
    assert sorted(read["text"]) == [1, 2]
    longer = core("assoc")(read, keyword("age"), 36)
    assert len(longer) == 4 and len(read) == 3 and longer[keyword("age")] == 36
    assert {str(key) for key in longer} == {":name", ":langs", "text", ":age"}
    assert core("get-in")(Clojure.read("{:a {:b 7}}"), Clojure.read("[:a :b]")) == 7
    try:
        read[name] = "Grace"
    except java.java.lang.UnsupportedOperationException:
        pass
    else:
        raise AssertionError("Clojure's maps are immutable")
    assert core("into")(Clojure.read("{}"), {"a": 1}) == {"a": 1}


def use_code(java, core):
    """Exceptions of Clojure, and code that Clojure compiles."""
    keyword = java.clojure.lang.Keyword.intern
    evaluate = core("load-string")
    evaluate('(ns shop) (defn total [prices] (reduce + 0N prices))')
    total = core("total", "shop")
    assert int(total([1, 2, 3])) == 6 and int(total([2**63 - 1, 2**63 - 1])) == 2**64 - 2
    try:
        evaluate('(throw (ex-info "no stock" {:left 0}))')
    except java.clojure.lang.Compiler.CompilerException as error:
        cause = error.__cause__
        assert isinstance(cause, java.clojure.lang.ExceptionInfo) and cause.getData() == {keyword("left"): 0}, cause
    else:
        raise AssertionError("nothing was thrown")
    try:
        total(["a"])
    except java.java.lang.ClassCastException:
        pass
    else:
        raise AssertionError("texts cannot be added")


class Function:
    """A Clojure var that is called like a Python function."""

    def __init__(self, var):
        self.var = var

    def __call__(self, *arguments):
        return self.var.invoke(*arguments)

    def fn(self):
        return self.var


with jpeer.launch(classpath=os.environ["JARS"], jvm_options=["-Xmx256m"]) as java:
    Clojure = java.clojure.java.api.Clojure

    def core(name, namespace="clojure.core"):
        return Function(Clojure.var(namespace, name))

    use_sequences(core)
    use_maps(java, Clojure, core)
    use_code(java, core)
    print(f"Clojure {core('clojure-version')()}: {Counted.calls} calls of Python's function, endless sequences, maps, keywords")
