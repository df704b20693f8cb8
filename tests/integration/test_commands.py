"""The commands of the binary: jpeer call, ls, describe, ping, stats and gc, as a shell runs them."""

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from support import jdks
from support.certificates import Servers
from support.clients import HttpClient
from support.peer import BINARY, FIXTURES, ROOT, START_SECONDS, Peer, environment, eventually, kill_after, run_to_end
from support.peer_case import PeerCase, allow
from support.tls_proxy import TlsProxy

HEAP = "java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted()"
LIST_OF_TEN = "IntStream.range(0, 10).boxed().collect(Collectors.toList())"


class CommandCase(PeerCase):
    options = ()

    def command(self, name, *words, peer=None, env=None):
        """The completed process: `jpeer NAME WORDS`, with a leak check in a build that has one."""
        peer = peer or self.peer
        return run_to_end(name, "-u", peer.address("ws"), *words, env=env or environment(leaks=True))

    def assert_prints(self, wanted, name, *words, **more):
        done = self.command(name, *words, **more)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertEqual(done.stdout, wanted)

    def assert_fails_with(self, status, text, name, *words, **more):
        done = self.command(name, *words, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")


class Expressions(CommandCase):
    def test_values(self):
        for expression, wanted in (
                ("Math.max(3, 5) + 1", "6"),
                ("-Math.max(3, 5) * 2 - 7 % 4", "-13"),
                ("Integer.MAX_VALUE + 1", "-2147483648"),
                ("Integer.MIN_VALUE / -1", "-2147483648"),
                ("7 / 2 + 7 / 2.0", "6.5"), ("(true ? 1 : 2.0) / 2", "0.5"), ("(false ? -(float) 2 * 3 : 1) / 2", "0.5"),
                ("true ? null : 2.0", "null"), ("(true ? 1 : \"x\") / 2", "0"),
                ("0.1f + 0.2f", "0.3"),
                ("0.1 + 0.2", "0.30000000000000004"),
                ("(byte) 300", "44"),
                ("(int) 3e10", "2147483647"),
                ("'a' + 1", "98"),
                ("(char) ('a' + 1)", "b"),
                ("1 / 0.0", "Infinity"),
                ("\"a\" + 1 + null + 2.5f + 'c' + true", "a1null2.5ctrue"),
                ("\"x\" == \"x\" && 1 == 1.0 && 'a' == 97", "true"),
                ("x = new Object(); y = x; (x == y) + \" \" + (x == new Object())", "true false"),
                ("false && 1 / 0 == 0", "false"),
                ("\"a\".getClass() == String.class && String.class == \"a\".getClass() && \"a\".getClass() != Integer.class", "true"),
                ("(String) \"a\" + (Integer) 5 + -(Integer) 5", "a5-5"),
                ("(Boolean) true && !(Boolean) false", "true"),
                ("r = null; for (d : List.of(LocalDate.parse(\"2024-01-01\"))) r = d == \"2024-01-01\"; r", "false"),
                ("\"abc\".length() > 2 ? \"long\" : \"short\"", "long"),
                ("\"a\" instanceof CharSequence", "true"),
                ("String.class.getName()", "java.lang.String"),
                ("Map.Entry.class.getName()", "java.util.Map$Entry"),
                ("import java.util.concurrent.*; TimeUnit.SECONDS.toMillis(5)", "5000"),
                ("java.util.concurrent.TimeUnit.SECONDS.toMillis(5)", "5000"),
                ("null", "null"),
                ("\"\\u00e9\\t\"", "\u00e9\t"),
        ):
            with self.subTest(expression):
                self.assert_prints(wanted + "\n", "call", "--", expression)

    def test_objects(self):
        for expression, wanted in (
                ("new ArrayList([1, \"x\", null])", "$1 java.util.ArrayList (3) [1, x, null]"),
                ("xs = [3, 1, 2]; xs.sort((a, b) -> b.compareTo(a)); xs", "$1 java.util.ArrayList (3) [3, 2, 1]"),
                ("Arrays.asList(\"b\", \"aa\").stream().map(String::length).map(Integer::toString).collect(Collectors.toList())",
                 "$1 java.util.ArrayList (2) [1, 2]"),
                ("[1, 2].stream().map(x -> x + 1).collect(Collectors.toList())", "$1 java.util.ArrayList (2) [2, 3]"),
                ("Arrays.asList(\"b\", \"a\").stream().sorted(String::compareTo).collect(Collectors.toList())",
                 "$1 java.util.ArrayList (2) [a, b]"),
                ("m = {a: 1}; m[\"b\"] = [2, 3]; m", "$1 java.util.LinkedHashMap (2) {a=1, b=[2, 3]}"),
                ("a = new int[] {5}; a[0] = 7; a", "$1 int[] (1) [7]"),
                ("a = new int[] {1, 2, 3}; a[1:]", "$1 int[] (2) [2, 3]"),
                ("new String[2]", "$1 java.lang.String[] (2) [null, null]"),
                ("n = 0; f = () -> { n = n + 1; n }; xs = [1, 2, 3, 4]; ys = xs[f():f() + 1]; ys + \" \" + n", "[2, 3] 2"),
                ("xs = [1, 2, 3]; xs[1:]", "$1 java.util.ArrayList$SubList (2) [2, 3]"),
                ("\"hello\"[1:] + \"hello\"[:2]", "ellohe"),
                ("a = new int[3]; a.length", "3"),
                ("List.of(List.of(Optional.empty()))", "$1 java.util.ImmutableCollections$List12 (1) [[Optional.empty]]"),
                ("java.util.concurrent.TimeUnit.SECONDS", "$1 java.util.concurrent.TimeUnit SECONDS"),
                ("IntStream.range(0, 3).iterator().getClass() == 1", "false"),
                (f"{LIST_OF_TEN}.subList(0, 10)", "$1 java.util.ArrayList$SubList (10) [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"),
        ):
            with self.subTest(expression):
                self.assert_prints(wanted + "\n", "call", expression)
        self.assert_prints("$1 java.util.ArrayList (10) [0, 1, ...]\n", "call", "-n", "2", LIST_OF_TEN)
        done = self.command("call", "-n", "3000", "IntStream.range(0, 3000).mapToObj(i -> new fixtures.Point(i, i)).collect(Collectors.toList())")
        self.assertEqual(done.stdout.count("Point[x="), 3000)

    def test_statements(self):
        for program, wanted in (
                (f"s = 0; for (i : {LIST_OF_TEN}) {{ if (i == 2) continue; if (i > 4) break; s = s + i }}; s", "8"),
                ("s = \"\"\nfor (e : Map.of(\"a\", 1)) s = s + e.getKey() + e.getValue()\ns", "a1"),
                ("s = 0; for (i : IntStream.range(0, 2500).boxed().iterator()) s = s + i; s", str(sum(range(2500)))),
                ("s = 0; for (i : new int[] {1, 2}) s = s + i; s", "3"),
                ("s = []; for (o : IntStream.range(0, 300).boxed().map(i -> new fixtures.Point(i, i)).collect(Collectors.toList()))"
                 " s.add({x: o.x, y: String.valueOf(o.y).length()}); s.size()", "300"),
                ("i = 0\nwhile (i < 5) { i = i + 1 }\ni", "5"),
                ("f = (n) -> { if (n < 2) return 1; n * f(n - 1) }; f(5)", "120"),
                ("try { Integer.parseInt(\"x\") } catch (NumberFormatException e) { e.getMessage() }",
                 "For input string: \"x\""),
                ("try { 1 / 0 } catch (ArithmeticException e) { e.getMessage() }", "/ by zero"),
                ("try { throw new IllegalStateException(\"no\") } catch (Exception e) { e.getMessage() }", "no"),
                ("try (r = new java.io.StringReader(\"ab\")) { (char) r.read() }", "a"),
                ("List<Integer> xs = new ArrayList<>(); int n = 2; xs.add(n); xs.get(0)", "2"),
        ):
            with self.subTest(program):
                self.assert_prints(wanted + "\n", "call", program)

    def test_the_language_does_as_java_does(self):
        log = "log = \"\"; f = n -> { log = log + n; n }; "
        for program, wanted in (
                (log + "xs = new ArrayList([0, 0, 0]); xs[f(1)] = f(2); log + xs", "12[0, 2, 0]"),
                (log + "xs = new int[3]; xs[f(1)] = f(2); log + xs[1]", "122"),
                ("s = \"\"; for (long x : List.of(1, 2)) s = s + x.getClass().getName(); s", "java.lang.Long" * 2),
                ("s = \"\"; for (x : new ArrayList([1L, 2, 2.5, 'c', true])) s = s + x.getClass().getSimpleName(); s",
                 "LongIntegerDoubleCharacterBoolean"),
                ("s = \"\"; for (xs : [new byte[1], new short[1], new long[1], new float[1], new char[1]]) for (x : xs)"
                 " s = s + x.getClass().getSimpleName(); s", "ByteShortLongFloatCharacter"),
                ("s = \"\"; for (e : Map.of(1L, 'c')) s = s + e.getKey().getClass().getSimpleName() + e.getValue().getClass().getSimpleName()"
                 "; s", "LongCharacter"),
                ("ys = new ArrayList([5, 6, 1, 2]); for (x : List.of(1)) ys.remove(x); for (x : [2]) ys.remove(x); ys.toString()",
                 "[5, 6]"),
                ("f = () -> { for (x : [1, 2, 3]) { if (x == 2) return x }; 9 }; f()", "2"),
                ("f = () -> { while (true) return 7 }; f()", "7"),
                ("a = new int[2][3]; a[1][2] = 5; a[1][2] + a[0].length", "8"),
                ("a = new int[][] {{1, 2}, {3}}; a[1][0] + a[0].length", "5"),
                ("int.class.getName()", "int"),
                ("ys = new ArrayList(); [1, 2].forEach(y -> ys.add(y)); ys.toString()", "[1, 2]"),
                ("xs = new ArrayList([7]); [1].stream().map(y -> xs.get(0) + y).collect(Collectors.toList()).get(0)", "8"),
                ("f = n -> { x = new ArrayList([n]); x.stream().map(y -> x.size()).count() }; f(3)", "1"),
                ("f = (java.util.function.Function) (x -> x + 1); f.andThen(y -> y * 2).apply(5)", "12"),
                ("s = \"\"; xs = []; for (e : {a: 1}) { s = s + e; xs.add(e) }; s + xs", "a=1[a=1]"),
                ("for (x : [[1]]) { x.add(2); y = x }; y.size()", "2"),
                ("try { throw new IllegalStateException(\"x\") } catch (RuntimeException e) { e.getMessage() }", "x"),
                ("try { Math.mx(1) } catch (ReflectiveOperationException e) { e.getClass().getName() }", "java.lang.NoSuchMethodException"),
                ("try { try { 1 / 0 } catch (IOException e) { 1 } } catch (ArithmeticException e) { 2 }", "2"),
        ):
            with self.subTest(program):
                self.assert_prints(wanted + "\n", "call", program)
        for program, text in (
                ("try { throw new IllegalStateException(\"q\") } catch (IOException e) { 2 }", "java.lang.IllegalStateException: q"),
                ("try { throw new Error(\"q\") } catch (Exception e) { 2 }", "java.lang.Error: q"),
                ("for (int x : new ArrayList([null])) x", "null cannot be converted to int"),
                ("f = x -> x; f.andThen(f)", "a lambda has no method andThen"),
                ("for (e : {a: 1}) e.setValue(5)", "UnsupportedOperationException"),
        ):
            with self.subTest(program):
                self.assert_fails_with(1, text, "call", program)

    def test_what_ran_before_a_failure_has_run(self):
        for end in ("1 / 0", "Integer.parseInt(\"x\")"):
            self.assertEqual(self.command("call", f"System.setProperty(\"cmd.ran\", \"1\"); {end}").returncode, 1)
            self.assert_prints("1\n", "call", "System.clearProperty(\"cmd.ran\")")
        self.assertEqual(self.command(
            "call", "Math.max(Integer.parseInt(\"x\"), System.setProperty(\"cmd.ran\", \"1\").length())").returncode, 1)
        self.assert_prints("null\n", "call", "System.getProperty(\"cmd.ran\")")

    def test_a_field_of_a_class_is_read_after_the_calls_before_it(self):
        for expression, initialised in (("Integer.parseInt(\"x\"); fixtures.LoudInitializer.touched", 0),
                                        ("fixtures.LoudInitializer.touched; Integer.parseInt(\"x\")", 1)):
            self.assertEqual(self.command("call", expression).returncode, 1)
            self.command("call", f"System.out.println(\"cmd.after{initialised}\")")
            self.peer.await_stdout(f"cmd.after{initialised}")
            self.assertEqual(self.peer.stdout().count("LoudInitializer initialised"), initialised)

    def test_round_trips(self):
        for expression, trips, held in (
                (HEAP, 1, 0),
                ("java.lang.System.out.println(java.lang.Math.PI)", 1, 0),
                ("ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted()", 2, 0),
                ("x = new Object(); x.hashCode()", 1, 1),
                ("Math.max(Math.abs(1), Math.abs(2))", 2, 0),
                ("1 + 1", 0, 0),
                ("for (i : [1, 2, 3]) new Object(); 5", 3, 0),
        ):
            with self.subTest(expression):
                done = self.command("call", "--time", expression)
                self.assertEqual(re.search(r"ms, (\d+) round trips?, (\d+) objects? held", done.stderr).groups(),
                                 (str(trips), str(held)))

    def test_variables_that_end_while_their_values_are_used(self):
        for program, wanted in (("n = 1000; f = () -> { n = n + 1; n }; n + f()", "2001"),
                                ("args = [1, 2, 3]; s = 0; for (a : args) { args = null; s = s + a }; s", "6"),
                                ("f = () -> { f = null; n = 7; n + 1 }; f()", "8"),
                                ("f = () -> { for (i : [41]) { x = i + 1 }; x }; f()", "42"),
                                ("o = new StringBuilder(\"a\"); f = () -> { o = null; 1 }; o.append(f())", "$1 java.lang.StringBuilder a1"),
                                ("f = i -> { f = null; i + 1 }; [1, 2].stream().map(f).collect(Collectors.toList())",
                                 "$1 java.util.ArrayList (2) [2, 3]"),
                                ("xs = [1, 2]; f = () -> { xs = null; 1 }; xs[f()]", "2")):
            with self.subTest(program):
                self.assert_prints(wanted + "\n", "call", program)
                self.assert_prints(wanted + "\n", "shell", "-e", program)  # values end with their statement


class Words(CommandCase):
    def test_forms_of_words(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("from a file")
            file.flush()
            for words, wanted in (
                    (["java.lang.Math.max", "3", "5"], "5"),
                    (["Math.abs", "-5"], "5"),
                    (["java.lang.Long.toString", "java.lang.Long:7"], "7"),
                    (["java.lang.String.valueOf", "char:x"], "x"),
                    (["java.lang.String.valueOf", "text:@a"], "@a"),
                    (["java.lang.String.valueOf", "http://host:80"], "http://host:80"),
                    (["java.util.Arrays.toString", "int[]:1,2,3"], "[1, 2, 3]"),
                    (["Objects.hash", "null:String"], "31"),
                    (["String.join", "-", "[\"a\", \"b\"]"], "a-b"),
                    (["java.lang.String.valueOf", f"@{file.name}"], "from a file"),
                    (["LocalDate.parse", "2024-02-29"], "$1 java.time.LocalDate 2024-02-29"),
                    (["ArrayList.new", "[1]"], "$1 java.util.ArrayList (1) [1]"),
            ):
                with self.subTest(words):
                    if "-" in words:
                        words = ["text:-" if word == "-" else word for word in words]
                    self.assert_prints(wanted + "\n", "call", *words)

    def test_usage_errors(self):
        for words, text in (
                ([], "needs EXPRESSION"),
                (["1", "2"], "an expression is one argument"),
                (["1 +"], "line 1, column 4: expected an expression"),
                (["--no-such", "1"], "--no-such"),
                (["Math.max", "ref:x"], "ref: takes a number"),
                (["Math.max", "@/no/such"], "cannot read /no/such"),
        ):
            with self.subTest(words):
                self.assert_fails_with(2, text, "call", *words)


class Output(CommandCase):
    def test_json_and_raw(self):
        for words, wanted in (
                (["--json", "\"a\\n\""], "\"a\\n\"\n"),
                (["--json", "[1, 2.5, null, \"x\", true]"], "[1,2.5,null,\"x\",true]\n"),
                (["--json", "m = {a: 1, b: [2]}; m"], "{\"a\":1,\"b\":[2]}\n"),
                (["--json", "IntStream.range(0, 3).boxed().collect(Collectors.toList())"], "[0,1,2]\n"),
                (["--json", "java.util.concurrent.TimeUnit.DAYS"],
                 "{\"type\":\"java.util.concurrent.TimeUnit\",\"text\":\"DAYS\"}\n"),
                (["--raw", "\"a\""], "a"),
        ):
            with self.subTest(words):
                self.assert_prints(wanted, "call", *words)
        done = self.command("call", "--json", "IntStream.range(0, 25000).boxed().collect(Collectors.toList())")
        self.assertEqual(json.loads(done.stdout), list(range(25000)))

    def test_tables(self):
        for expression, wanted in (
                ("[{a: 1, b: \"x\"}, {a: 22}]", " a  | b\n----+------\n  1 | x\n 22 | null\n(2 rows)\n"),
                ("List.of(new fixtures.Point(1, 2))", " x | y\n---+---\n 1 | 2\n(1 row)\n"),
                ("Map.of(\"a\", 1)", " key | value\n-----+-------\n a   |     1\n(1 row)\n"),
                ("List.of(1)", "$1 java.util.ImmutableCollections$List12 (1) [1]\n"),
                ("Math.abs(-1)", "1\n"),
        ):
            with self.subTest(expression):
                self.assert_prints(wanted, "call", "--table", expression)
        done = self.command("call", "--table", "List.of(new java.util.concurrent.atomic.AtomicInteger(3))")
        self.assertRegex(done.stdout, " 3")
        self.assertNotIn("ncrement", done.stdout)
        self.assert_prints("1\n[2]\n", "call", "--ndjson", "List.of(1, [2])")

    def test_exceptions(self):
        done = self.command("call", "Integer.parseInt(\"x\")")
        self.assertEqual(done.stderr, "java.lang.NumberFormatException: For input string: \"x\"\n"
                                      "\t... 3 frames of the JDK (-v shows them)\n")
        self.assertIn("\tat java.", self.command("call", "-v", "Integer.parseInt(\"x\")").stderr)
        for expression, text in (
                ("1 / 0", "jpeer call: line 1, column 3: / by zero\n  1 / 0\n    ^\n"),
                ("Math.mx(3)", "did you mean max?"),
                ("a.b.C.d().e()", "java.lang.ClassNotFoundException: a.b.C"),
                ("TimeUnit.SECONDS", "did you mean java.util.concurrent.TimeUnit?"),
                ("nothing.at()", "there is no variable or class nothing"),
                ("Strin.valueOf(1)", "a class that this client may use: did you mean java.lang.String?\n"),
                ("new TimeUnti()", "did you mean java.util.concurrent.TimeUnit?\n"),
                ("list = [1]; lisst.size()", "there is no variable or class lisst: did you mean list?\n"),
                ("list = [1]; $12 = 3; $13", "there is no variable $13\n"),
        ):
            with self.subTest(expression):
                self.assert_fails_with(1, text, "call", expression)

    def test_what_cannot_be_shown_is_an_error(self):
        slow = "fixtures.Looks.slow(60000)"
        for words in (["call", slow], ["call", "--raw", slow], ["call", "--json", slow], ["call", f"List.of({slow})"],
                      ["each", f"List.of({slow})"],
                      ["shell", "-e", f"{slow}; 2"]):
            with self.subTest(words):
                self.assert_fails_with(5, "no answer in 300 ms", words[0], "--timeout", "300ms", *words[1:])
        self.assert_fails_with(1, "java.lang.IllegalStateException: no text", "call", "--raw", "fixtures.Looks.throwing()")
        self.assert_prints("$1 fixtures.Hostile\n", "call", "new fixtures.Hostile()")
        done = self.command("call", "--table", "fixtures.Tables.beans(3)")
        self.assertIn("<java.lang.IllegalStateException>", done.stdout)

    def test_output_that_cannot_be_written_is_an_error(self):
        for words in (["call", "1"], ["each", "IntStream.range(0, 9999)"], ["ls"], ["ps", "--json"], ["shell", "-e", "1"], ["stats"]):
            with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                options = [] if words[0] == "ps" else ["-u", self.peer.address("ws")]
                done = subprocess.run([BINARY, words[0], *options, *words[1:]], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=environment(), timeout=START_SECONDS)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("cannot write the output: No space left on device", done.stderr)

    def test_a_terminal_gets_no_control_characters(self):
        parent, child = pty.openpty()
        subprocess.run([BINARY, "call", "-u", self.peer.address("ws"), "\"a\\u001b[2J\""], stdout=child,
                       env=environment(), timeout=START_SECONDS, check=True)
        os.close(child)
        self.assertEqual(os.read(parent, 1000), b"a\\x1b[2J\r\n")
        os.close(parent)

    def test_exit_statuses(self):
        self.assert_fails_with(5, "no answer in 100 ms", "call", "--timeout", "100ms", "Thread.sleep(60000)")
        done = run_to_end("call", "-u", "ws+unix:/no/such/socket", "1")
        self.assertEqual(done.returncode, 4, done.stderr)
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder:
            done = run_to_end("call", "1", env=environment(XDG_RUNTIME_DIR=folder))
        self.assertEqual((done.returncode, done.stderr),
                         (4, "jpeer call: which peer? Name it with -u URL or JPEER_URL, or launch one with -cp PATH\n"))
        peer = self.start_with(allow("java.lang.Math"))
        self.assert_prints("5\n", "call", "Math.max(3, 5)", peer=peer)
        self.assert_fails_with(3, "{class: \"java.lang.System\", method: \"exit\", action: ALLOW}", "call", "System.exit(1)",
                               peer=peer)
        self.assert_fails_with(3, "method: \"<init>\", action: ALLOW}", "call", "new ArrayList()", peer=peer)
        errors = self.command("shell", "-e", "System.exit(1)", peer=peer).stderr
        self.assertTrue(errors.startswith("-e:1:8: RPC access denied: java.lang.System.exit via "), errors)

    def test_read_only_runs_what_the_operator_has_named(self):
        peer = self.start("--rpc-idempotent", "java.lang.Math.max,java.util.List.size,java.util.Collection.iterator,"
                          "java.util.Iterator.*next")
        one = "x = [7]; "
        for name, words, wanted in (
                ("call", ["Math.max(3, 5)"], "5"), ("call", ["java.lang.Math.max", "3", "5"], "5"),
                ("call", ["Integer.MAX_VALUE"], "2147483647"), ("call", [one + "x.size()"], "1"),
                ("call", [one + "x"], "$1 java.util.ArrayList (1) [7]"), ("each", [one + "x"], "7"),
                ("shell", ["-e", one + "for (y : x) z = y; z"], "7"),
                ("shell", ["-e", "try { System.gc() } catch (e) x = 5; x"], "5"),
                ("call", [one + "x instanceof List"], "true"),
        ):
            with self.subTest(name, words=words):
                self.assert_prints(wanted + "\n", name, "--read-only", *words, peer=peer)
        for name, words, member in (
                ("call", ["System.gc()"], "java.lang.System.gc"), ("call", ["java.lang.System.exit", "1"], "java.lang.System.exit"),
                ("call", ["new Object()"], "java.lang.Object.<init>"), ("call", [one + "x.clear()"], "java.util.ArrayList.clear"),
                ("each", ["Stream.of(1)"], "java.util.stream.Stream.of"), ("describe", ["System.getenv()"], "java.lang.System.getenv"),
                ("shell", ["-e", "System.gc()"], "java.lang.System.gc"),
        ):
            with self.subTest(name, words=words):
                self.assert_fails_with(3, f"names it with --rpc-idempotent '{member}'", name, "--read-only", *words, peer=peer)
        self.assertIn('"options":{"idempotent":true}', self.command("call", "--read-only", "--print-request", "Math.max(3, 5)").stdout)
        peer = self.start("--rpc-idempotent", "fixtures.Tables.people,fixtures.Tables$Person.name")
        cells = self.command("call", "--read-only", "--table", "fixtures.Tables.people(1)", peer=peer).stdout.split("\n")[2]
        self.assertEqual(sorted(cells.replace("|", " ").split()), ["<denied>", "<denied>", "n0"])

    def test_exit_statuses_by_command(self):
        here = self.peer.address("ws")
        denied = self.start_with(allow("java.lang.Math")).address("ws")
        gone = "ws+unix:/no/such/socket"
        slow = "Thread.sleep(60000)"
        named = ("call", "each", "describe", "shell")  # they take a word
        for status, url, options, words in (
                (1, here, [], {"call": ["1 / 0"], "each": ["5"], "describe": ["no.such.Name"], "shell": ["-e", "throw new Error()"],
                               "cancel": ["1"]}),
                (2, here, ["--nope"], dict.fromkeys(named, ["1"])),
                (2, here, [], {"call": ["1 +"], "each": [], "describe": [], "shell": ["-e", "1 +"], "ls": ["a", "b"], "ping": ["x"],
                               "cancel": ["x"], "rpc": ["x"]}),
                (3, denied, [], {"call": ["System.exit(1)"], "each": ["System.getenv()"], "describe": ["java.lang.System"],
                                 "shell": ["-e", "System.exit(1)"], "gc": []}),
                (4, gone, [], {**dict.fromkeys(named[:3], ["1"]), "shell": ["-e", "1"],
                               **dict.fromkeys(("ls", "ping", "stats", "gc", "calls", "rpc"), [])}),
                (5, here, ["--timeout", "50ms"], {"call": [slow], "each": [slow], "describe": [slow], "shell": ["-e", slow]}),
        ):
            for name, more in words.items():
                with self.subTest(name, status=status):
                    done = run_to_end(name, "-u", url, *options, *more)
                    self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                    self.assertNotEqual(done.stderr, "")

    def test_ctrl_c_cancels_the_call_in_java(self):
        begun = "cmd.sleeping"
        program = (f"System.setProperty(\"{begun}\", Thread.currentThread().getName())\nThread.sleep(60000)")
        process = subprocess.Popen([BINARY, "call", "-u", self.peer.address("ws"), program], env=environment(),
                                   stderr=subprocess.PIPE, text=True)
        state = f"Thread.getAllStackTraces().values().stream().filter(s -> s.length > 0 && " \
                "s[0].getMethodName().startsWith(\"sleep\")).count()"
        count = lambda: self.command("call", state).stdout.strip()
        eventually(lambda: count() == "1", "a sleeping call")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(START_SECONDS), 130)
        process.stderr.close()
        eventually(lambda: count() == "0", "the end of the call in Java")

    def test_ctrl_c_ends_a_loop(self):
        process = subprocess.Popen([BINARY, "call", "-u", self.peer.address("ws"),
                                    "System.out.println(\"cmd.looping\")\nwhile (true) { x = 1 }"], env=environment(),
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.peer.await_stdout("cmd.looping")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(START_SECONDS), 130)


class Looking(CommandCase):
    def test_ls(self):
        self.assertIn("java.util.concurrent.\n", self.command("ls", "java.util").stdout)
        self.assertIn("java.util.ArrayList\n", self.command("ls", "java.util.ArrL").stdout)
        names = self.command("ls", "java.util.*Map").stdout.split()
        self.assertIn("java.util.TreeMap", names)
        self.assertTrue(all(re.fullmatch(r"java\.util\..*Map", name) for name in names), names)
        self.assert_fails_with(2, "--json takes a prefix", "ls", "--json", "java.*")
        done = self.command("ls", "-n", "2", "java.util.")
        self.assertEqual((len(done.stdout.splitlines()), done.stderr), (2, "jpeer ls: there are more names (-n COUNT)\n"))
        self.assertEqual(json.loads(self.command("ls", "--json", "java.lang.Runnab").stdout)["classes"],
                         ["java.lang.Runnable"])

    def test_describe(self):
        self.assert_prints("public abstract interface java.lang.Runnable {\n  public abstract void run();\n}\n",
                           "describe", "Runnable")
        lines = self.command("describe", "java.lang.Math").stdout.splitlines()
        self.assertIn("  public static int max(int a, int b);", lines)
        self.assertIn("public boolean isEmpty()", self.command("describe", "new ArrayList()").stdout)
        self.assertEqual(json.loads(self.command("describe", "--json", "Runnable").stdout)["class"], "java.lang.Runnable")
        self.assert_fails_with(1, "ClassNotFoundException", "describe", "no.such.Name")

    def test_only_what_the_caller_may_use(self):
        peer = self.start_with(allow("java.lang.Math", method="max"))
        lines = self.command("describe", "java.lang.Math", peer=peer).stdout.splitlines()
        self.assertTrue(lines[1:-1])
        self.assertTrue(all(" max(" in line for line in lines[1:-1]), lines)
        self.assertEqual(self.command("ls", "java.lang.", peer=peer).stdout, "java.lang.Math\n")

    def test_ping_stats_gc(self):
        self.assertRegex(self.command("ping").stdout, r"^alive: [\d.]+ ms\n$")
        self.assertEqual(json.loads(self.command("stats").stdout)["objects"], 0)
        self.assert_prints("", "gc")


class Messages(CommandCase):
    def test_a_request_is_printed_and_not_sent(self):
        call = {"jsonrpc": "2.0", "id": 1, "method": "call",
                "params": {"type": "java.lang.System", "method": "setProperty", "args": ["cmd.printed", "1"]}}
        done = self.command("call", "--print-request", "System.setProperty(\"cmd.printed\", \"1\")")
        self.assertEqual((json.loads(done.stdout), done.stderr, done.returncode), (call, "", 0))
        done = self.command("call", "--print-request", "System.setProperty(\"cmd.printed\", \"1\"); Math.abs(1)")
        self.assertEqual((json.loads(done.stdout), done.stderr),
                         (call, "jpeer call: what follows depends on the answer\n"))
        done = self.command("call", "--print-request", HEAP)
        self.assertEqual([step["params"].get("instance") for step in json.loads(done.stdout)],
                         [None, {"result": 1}, {"result": 2}])
        self.assertIn("curl -s http://127.0.0.1:", self.command("call", "--curl", "Math.max", "3", "5").stdout)
        self.assert_prints("null\n", "call", "System.getProperty(\"cmd.printed\")")

    def test_curl_gets_the_answer(self):
        line = self.command("call", "--curl", "\"it's\".length()").stdout
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=START_SECONDS)
        self.assertEqual(json.loads(done.stdout)["result"]["value"]["value"], "4")

    def test_rpc_sends_lines_as_they_are(self):
        sent = [json.dumps({"jsonrpc": "2.0", "id": i, "method": "java.lang.Math.abs", "params": [-i]}) for i in range(3000)]
        done = self.feed("rpc", "\n".join([*sent, "", json.dumps({"jsonrpc": "2.0", "method": "java.lang.Math.abs",
                                                                   "params": [1]})]))
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertEqual([(json.loads(line)["id"], json.loads(line)["result"]) for line in done.stdout.splitlines()],
                         [(i, i) for i in range(3000)])
        done = self.feed("rpc", "no JSON\n[" + sent[5] + "]")
        self.assertEqual([type(json.loads(line)) for line in done.stdout.splitlines()], [dict, list])
        self.assertEqual(done.returncode, 1)

    def feed(self, name, text):
        return subprocess.run([BINARY, name, "-u", self.peer.address("ws")], input=text, capture_output=True, text=True,
                              env=environment(leaks=True), timeout=START_SECONDS)


class Streams(CommandCase):
    def test_each_prints_elements(self):
        for expression, wanted in (
                ("List.of(1, \"a\", List.of(2, 3))", "1\na\n[2, 3]\n"),
                ("Map.of(\"a\", Optional.empty())", "a=Optional.empty\n"),
                ("[1, 2]", "1\n2\n"),
                ("new int[] {1, 2}", "1\n2\n"),
                ("IntStream.range(0, 3000)", "".join(f"{i}\n" for i in range(3000))),
        ):
            with self.subTest(expression):
                self.assert_prints(wanted, "each", expression)
        self.assert_prints("1\n\"a\"\n", "each", "--ndjson", "List.of(1, \"a\")")
        self.assert_fails_with(1, "an int has no elements", "each", "5")

    def test_the_end_of_the_pipe_ends_the_iteration(self):
        stream = ("IntStream.iterate(0, i -> i + 1).peek(i -> Thread.sleep(20)).onClose(() -> System.out.println(\"cmd.closed\"))")
        process = subprocess.Popen([BINARY, "each", "-u", self.peer.address("ws"), stream], env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        with kill_after(process):
            self.assertEqual(process.stdout.readline(), "0\n")
        process.stdout.close()
        self.assertEqual((process.wait(START_SECONDS), process.stderr.read()), (0, ""))
        process.stderr.close()
        self.peer.await_stdout("cmd.closed")

    def test_a_terminal_shows_the_progress_of_a_long_transfer(self):
        parent, child = pty.openpty()
        done = subprocess.run([BINARY, "each", "-u", self.peer.address("ws"), "IntStream.range(0, 50).peek(i -> Thread.sleep(40))"],
                              stdout=subprocess.PIPE, stderr=child, text=True, env=environment(leaks=True), timeout=START_SECONDS)
        os.close(child)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [str(i) for i in range(50)]))
        self.assertRegex(os.read(parent, 10000), rb"^\r\d+ elements, [1-9]\d* s(?s:.*)\r\x1b\[K$")
        os.close(parent)

    def test_watch_repeats(self):
        process = subprocess.Popen([BINARY, "call", "--watch", "10ms", "-u", self.peer.address("ws"), "System.nanoTime()"],
                                   env=environment(), stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        with kill_after(process):
            lines = [process.stdout.readline() for _ in range(3)]
        self.assertEqual(len(set(lines)), 3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(START_SECONDS), 130)
        process.stdout.close()


class Running(CommandCase):
    def test_calls_and_cancel(self):
        process = subprocess.Popen([BINARY, "call", "-u", self.peer.address("ws"), "Thread.sleep(60000)"],
                                   env=environment(), stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        eventually(lambda: "Thread.sleep" in self.command("calls").stdout, "the call is listed")
        call, = json.loads(self.command("calls", "--json").stdout)
        self.assert_prints("", "cancel", str(call["call"]))
        self.assertEqual(process.wait(START_SECONDS), 1)
        self.assertIn("cancelled", process.stderr.read())
        process.stderr.close()
        self.assert_fails_with(1, "no call 1 runs", "cancel", "1")
        self.assert_fails_with(2, "takes the number of a call", "cancel", "x")

    def test_jvms_without_a_peer_are_listed(self):
        java = subprocess.Popen([jdks.homes()[0] / "bin/java", "-cp", FIXTURES, "fixtures.SlowMain", "word"],
                                stdout=subprocess.DEVNULL, env=environment())
        self.addCleanup(java.wait)
        self.addCleanup(java.kill)

        def listed(*options):
            shown = [json.loads(line) for line in run_to_end("ps", "--json", *options).stdout.splitlines()]
            return {entry["pid"]: (entry["name"], entry["addresses"]) for entry in shown}
        eventually(lambda: listed("--jvms").get(java.pid) == ("fixtures.SlowMain", []), "the JVM is listed")
        self.assertNotIn(java.pid, listed())
        self.assertEqual(sum(pid == self.peer.process.pid for pid in listed("--jvms")), 1)

    def test_a_folder_that_others_can_write_to_is_refused(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder:
            Path(folder, "jpeer").mkdir()
            Path(folder, "jpeer").chmod(0o777)
            for words, status in ((["ps"], 1), (["call", "1"], 4), (["sessions"], 1), (["call", "-s", "w", "1"], 1)):
                with self.subTest(words):
                    done = run_to_end(*words, env=environment(XDG_RUNTIME_DIR=folder))
                    self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                    self.assertIn("is not a folder that this user alone can write to", done.stderr)

    def test_the_only_peer_of_the_user_is_found(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder:
            own = environment(XDG_RUNTIME_DIR=folder)
            self.assertEqual(run_to_end("ps", env=own).stdout, "")
            self.assertEqual(run_to_end("call", "1", env=own).returncode, 4)
            with Peer("--name", "first", env=own) as first:
                self.assertEqual(run_to_end("call", "Math.abs(-1)", env=own).stdout, "1\n")
                shown = json.loads(run_to_end("ps", "--json", env=own).stdout)
                self.assertEqual((shown["name"], shown["pid"]), ("first", first.process.pid))
                with Peer("--name", "second", env=own) as second:
                    done = run_to_end("call", "1", env=own)
                    self.assertEqual(done.returncode, 4)
                    self.assertIn(f"-u {second.address('ws')}", done.stderr)
                    self.assertEqual([line.split()[0] for line in run_to_end("ps", env=own).stdout.splitlines()],
                                     ["NAME", "first", "second"])
                    second.process.kill()
                    second.process.wait()
                    self.assertEqual(len(run_to_end("ps", env=own).stdout.splitlines()), 2)
                    self.assertEqual(len(os.listdir(Path(folder, "jpeer"))), 1)
            self.assertEqual(run_to_end("ps", env=own).stdout, "")


class Sessions(CommandCase):
    def setUp(self):
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-run-"))
        self.own = environment(leaks=True, XDG_RUNTIME_DIR=folder)

    def in_session(self, *words, peer=None):
        done = self.command(words[0], "-s", "w", *words[1:], env=self.own, peer=peer)
        return done.stdout + done.stderr

    def test_variables_between_commands(self):
        self.assertEqual(self.in_session("call", "new ArrayList()"), "$1 java.util.ArrayList (0) []\n")
        self.assertEqual(self.in_session("call", "$1.add(3)"), "true\n")
        self.assertEqual(self.in_session("call", "$1"), "$1 java.util.ArrayList (1) [3]\n")
        self.assertEqual(self.in_session("call", "x = 2.5f; c = \"q\".charAt(0); s = \"a\\n\"; n = null; y = $1; l = 5l; b = true"), "")
        self.assertEqual(self.in_session("call", "x + y.size() + l + c + s + n + b"), "121.5a\nnulltrue\n")
        self.assertEqual(self.in_session("each", "y"), "3\n")
        self.assertIn("the variable f is not kept", self.in_session("call", "f = a -> a"))
        self.assertIn("9 variables", run_to_end("sessions", env=self.own).stdout)
        self.assertEqual(run_to_end("call", "-s", "w", "$1.size()", env=self.own).stdout, "1\n")
        self.assertEqual(run_to_end("end", "w", env=self.own).returncode, 0)
        self.assertIn("there is no variable $1", self.in_session("call", "$1"))
        self.assertEqual(run_to_end("end", "no", env=self.own).returncode, 1)

    def test_objects_are_released_when_no_variable_holds_them(self):
        self.in_session("call", "o = new Object(); p = o; w = new java.lang.ref.WeakReference(o)")
        self.assertEqual(self.in_session("call", "p = 5; System.gc(); w.get() == null"), "false\n")
        self.in_session("call", "o = 5; _ = 5")
        eventually(lambda: self.in_session("call", "System.gc(); w.get() == null") == "true\n", "the end of o")
        self.in_session("call", "v = new java.lang.ref.WeakReference(new Object())")
        eventually(lambda: self.in_session("call", "System.gc(); v.get() == null") == "true\n", "the end of an object without a name")
        self.in_session("call", "k = new ArrayList(); u = new java.lang.ref.WeakReference(k); k")
        run_to_end("end", "w", env=self.own)
        self.assert_prints("0\n", "call", "0")

    def test_the_peer_holds_what_variables_hold_and_nothing_else(self):
        stream = "IntStream.range(0, 5000).boxed().map(i -> new fixtures.Point(i, i)).iterator()"
        for number, (words, objects) in enumerate((
                (["call", "x = new Object(); y = x; new ArrayList(); 5"], 1),
                (["call", "for (p : [new Object(), new Object()]) q = p; new Object().hashCode()"], 1),
                (["call", f"for (p : {stream}) {{ if (p.x() == 3) break }}; 5"], 0),
                (["call", "f = i -> new ArrayList([i]); [1, 2].stream().map(f).collect(Collectors.toList()).size()"], 0),
                (["call", "try { new ArrayList().get(5) } catch (e) { e.getMessage() }"], 0),
                (["call", "try { throw new Error() } catch (Exception e) { 5 }"], 0),
                (["call", "o = new Object(); Integer.parseInt(\"x\")"], 1),
                (["call", "g = () -> { h = n -> n < 1 ? new Object() : h(n - 1); h(2) }; g(); g(); 5"], 0),
                (["call", "new ArrayList([new Object(), [new Object()]])"], 1),
                (["call", "--json", "[new Object()].stream()"], 1),
                (["call", "--table", "List.of(new fixtures.Point(1, 2))"], 1),
                (["each", stream], 1),
                (["each", "--ndjson", "List.of(new Object())"], 1),
                (["call", "a = new Object[2]; a[0] = new Object(); a[0].hashCode(); m = Map.of(1, new Object()); m[1] == null"], 2),
                (["shell", "-e", "z = [1]\nz = 5\n[new Object()]\n_ = 5"], 0),
        )):
            with self.subTest(words):
                self.command(words[0], "-s", f"w{number}", *words[1:], env=self.own)
                file = Path(self.own["XDG_RUNTIME_DIR"], "jpeer", "sessions", f"w{number}")
                with HttpClient(self.peer, peer_id=json.loads(file.read_text(encoding="utf-8"))["session"]) as client:
                    counted = lambda client=client: json.loads(client.control("stats")["value"])["objects"]
                    eventually(lambda: counted() <= objects, lambda: f"{objects} objects, not {counted()}", 5)
                    self.assertEqual(counted(), objects)

    def test_a_session_of_a_peer_that_has_ended(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder:
            options = ("--json-rpc", f"unix:{folder}/s")
            url = f"ws+unix:{folder}/s"
            run = lambda expression: run_to_end("call", "-s", "old", "-u", url, expression, env=self.own)
            with Peer(*options, addresses=False):
                self.assertEqual(run("x = 5; new ArrayList()").returncode, 0)
            self.assertEqual(run("x").returncode, 4)
            with Peer(*options, addresses=False):
                done = run("x + 1")
                self.assertEqual(done.stdout, "6\n")
                self.assertIn("has ended the session: ", done.stderr)
                self.assertIn("there is no variable $1", run("$1").stderr)
            self.assertEqual(run_to_end("end", "old", env=self.own).returncode, 0)
            self.assertEqual(run_to_end("sessions", env=self.own).stdout, "")

    def test_a_command_waits_for_the_session(self):
        errors = self.enterContext(tempfile.NamedTemporaryFile("w+", encoding="utf-8"))

        def begin(expression):
            process = subprocess.Popen([BINARY, "call", "-s", "w", "-u", self.peer.address("ws"), expression], env=self.own,
                                       stdout=subprocess.PIPE, stderr=errors, text=True)
            self.addCleanup(process.kill)
            return process
        first = begin("System.out.println(\"cmd.held\"); while (System.getProperty(\"cmd.go\") == null) Thread.sleep(10); x = 7")
        self.peer.await_stdout("cmd.held")
        second = begin("x")
        wanted = "jpeer call: waits for another command of the session w\n"
        eventually(lambda: Path(errors.name).read_text(encoding="utf-8") == wanted, "the second command waits")
        self.assertEqual(run_to_end("sessions", env=self.own).returncode, 0)
        third = begin("x")
        eventually(lambda: Path(errors.name).read_text(encoding="utf-8") == 2 * wanted, "the third command waits")
        third.send_signal(signal.SIGINT)
        self.assertEqual(third.communicate(timeout=START_SECONDS)[0], "")
        self.assertEqual(third.returncode, 130)
        self.command("call", "System.setProperty(\"cmd.go\", \"1\")")
        self.assertEqual(first.communicate(timeout=START_SECONDS)[0], "")
        self.assertEqual(second.communicate(timeout=START_SECONDS)[0], "7\n")

    def test_names_and_addresses(self):
        self.assert_fails_with(2, "a session's name has letters", "call", "-s", "../x", "1", env=self.own)
        self.in_session("call", "1")
        done = run_to_end("call", "-s", "w", "-u", "ws://127.0.0.1:1", "1", env=self.own)
        self.assertEqual(done.returncode, 2)
        self.assertIn("the session w is of the peer at", done.stderr)

    def test_a_session_outlives_a_peer_that_does_not_answer(self):
        self.in_session("call", "o = new Object(); x = 5")
        file = Path(self.own["XDG_RUNTIME_DIR"], "jpeer", "sessions", "w")
        text = file.read_text(encoding="utf-8")
        closing = socket.create_server(("127.0.0.1", 0))

        def close_connections():
            with contextlib.suppress(OSError):
                while True:
                    closing.accept()[0].close()
        threading.Thread(target=close_connections, daemon=True).start()
        self.addCleanup(closing.close)
        self.addCleanup(closing.shutdown, socket.SHUT_RDWR)
        other = text.replace(self.peer.address("ws"), "tcp://127.0.0.1:%d" % closing.getsockname()[1])
        file.write_text(other, encoding="utf-8")
        for words in (("call", "-s", "w", "x = 6"), ("end", "w")):
            done = run_to_end(*words, env=self.own)
            self.assertEqual((done.returncode, done.stdout, file.read_text(encoding="utf-8")), (4, "", other), done.stderr)
            self.assertNotEqual(done.stderr, "")
        file.write_text(text, encoding="utf-8")
        self.assertEqual(self.in_session("call", "x + o.toString().length() * 0"), "5\n")

    def test_a_broken_file_is_no_new_session(self):
        self.in_session("call", "x = 5")
        file = Path(self.own["XDG_RUNTIME_DIR"], "jpeer", "sessions", "w")
        text = file.read_text(encoding="utf-8")
        for broken in (text[:-4], "{}", text.replace("\"variables\":[", "\"variables\":5, \"x\":["), "\0"):
            file.write_text(broken, encoding="utf-8")
            for words in (("call", "-s", "w", "1"), ("end", "w")):
                done = run_to_end(*words, env=self.own)
                self.assertEqual((done.returncode, file.read_text(encoding="utf-8")), (1, broken))
                self.assertIn(f"{file} is not the file of a session: remove it", done.stderr)
            self.assertIn("is broken", run_to_end("sessions", env=self.own).stdout)


class Completing(CommandCase):
    def complete(self, *words, **changes):
        done = run_to_end("complete", "--", *words, env=environment(leaks=True, JPEER_URL=self.peer.address("ws"), **changes))
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        return done.stdout.split()

    def test_words(self):
        for words, wanted in (
                (["pi"], ["ping"]),
                (["ru"], ["run"]),
                (["call", "--print-r"], ["--print-request"]),
                (["run", "--rpc-threads-"], ["--rpc-threads-max"]),
                (["run", "--rpc-policy-preset", "deny-files,deny-un"], ["deny-files,deny-unsafe"]),
                (["call", "Math.floorM"], ["Math.floorMod"]),
                (["call", "java.lang.Math.floorM"], ["java.lang.Math.floorMod"]),
                (["each", "ArrL"], ["ArrayList"]),
                (["describe", "java.util.concurrent.ato"], ["java.util.concurrent.atomic."]),
                (["call", "-cp", "x"], []),
                (["nope", "x"], []),
        ):
            with self.subTest(words):
                self.assertEqual(self.complete(*words), wanted)
        self.assertEqual(run_to_end("complete", "--", "call", "Math.m", env=environment(JPEER_URL="ws://127.0.0.1:1")).stdout, "")

    def test_addresses_and_sessions(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder:
            own = environment(XDG_RUNTIME_DIR=folder)
            with Peer("--name", "here", env=own) as peer:
                run_to_end("call", "-s", "kept", "1", env=own)
                self.assertIn(peer.address("ws"), self.complete("call", "-u", "ws", XDG_RUNTIME_DIR=folder))
                self.assertEqual(self.complete("end", "k", XDG_RUNTIME_DIR=folder), ["kept"])

    def test_the_script_of_bash_obeys_its_word_breaks(self):
        script = run_to_end("completion", "bash").stdout
        lines = []
        with tempfile.TemporaryDirectory(prefix="jpeer-run-") as folder, \
                Peer("--json-rpc", f"unix:{folder}/s", env=environment(XDG_RUNTIME_DIR=folder), addresses=False):
            for line, words in (("jpeer call Math.floorM", "jpeer call Math.floorM"),
                                (f"jpeer call -u ws+unix:{folder}/", f"jpeer call -u ws+unix : {folder}/")):
                done = subprocess.run(
                    ["bash", "-c", script + f"\nCOMP_LINE='{line}'; "
                     f"COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
                     "_jpeer 2>/dev/null; echo \"${COMPREPLY[*]}\""], capture_output=True, text=True, timeout=START_SECONDS,
                    env=environment(XDG_RUNTIME_DIR=folder, PATH=f"{BINARY.parent}:{os.environ['PATH']}"))
                lines.append(done.stdout)
            self.assertEqual(lines, ["Math.floorMod\n", f"{folder}/s\n"])
        for shell in ("zsh", "fish"):
            self.assertIn("jpeer complete", run_to_end("completion", shell).stdout)
        self.assertEqual(run_to_end("completion", "csh").returncode, 2)

    def test_man_pages_have_the_options_of_help(self):
        shown = run_to_end("--help").stdout
        for name in (*re.findall(r"^  (\w+)  ", shown, re.M), "run"):
            if name in ("policy", "completion", "man", "help"):
                continue
            with self.subTest(name):
                page = run_to_end("man", name).stdout
                self.assertTrue(page.startswith(f".TH \"jpeer-{name}\" 1\n"))
                plain = page.replace("\\fB", "").replace("\\fR", "").replace("\\fI", "").replace("\\-", "-")
                for options in re.findall(r"^  (-.*?)(?:  |$)", run_to_end(name, "--help").stdout, re.M):
                    self.assertIn(f".TP\n{options.strip()}\n", plain)
        self.assertEqual(run_to_end("man", "nope").returncode, 2)


class Secured(PeerCase):
    """Over TLS, and with a token."""
    options = ()
    peer_arguments = {"sockets": True}

    def test_tls_and_tokens(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-tls-"))
        certificates = Servers(folder)
        token = Path(folder, "token")
        token.write_text("secret-token-of-the-test\n", encoding="utf-8")
        proxy = self.enterContext(TlsProxy(self.peer.socket_path("ws+unix"), certificates.context()))
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "java.lang.Math.abs", "params": [-7]})
        for scheme in ("wss", "https"):
            options = ("-u", proxy.url(scheme, "localhost"), "--ca-file", certificates.certificate, "--token-file", token)
            with self.subTest(scheme):
                self.assertEqual(run_to_end("call", *options, "Math.abs(-7)").stdout, "7\n")
                done = subprocess.run([BINARY, "rpc", *options], input=message, capture_output=True, text=True,
                                      env=environment(leaks=True), timeout=START_SECONDS)
                self.assertEqual((done.stderr, json.loads(done.stdout)["result"]), ("", 7))
                done = run_to_end("call", *options, "--curl", "Math.abs(-7)")
                self.assertNotIn("secret", done.stdout)
                self.assertIn("https://localhost:", done.stdout)
                done = subprocess.run(["/bin/sh", "-c", done.stdout], capture_output=True, text=True, timeout=START_SECONDS)
                self.assertEqual(json.loads(done.stdout)["result"]["value"]["value"], "7")
                done = run_to_end("call", "-u", proxy.url(scheme, "localhost"), "1 + Math.abs(1)")
                self.assertEqual((done.returncode, done.stdout), (4, ""))
        done = run_to_end("call", "--token-file", "/no/such", "-u", self.peer.address("ws"), "Math.abs(-7)")
        self.assertEqual((done.returncode, done.stdout), (4, ""))


class Launching(PeerCase):
    def test_an_option_of_run_that_lacks_its_value_is_named(self):
        done = run_to_end("call", "-cp", FIXTURES, "--run", "--rpc-allow", "System.nanoTime()")
        self.assertIn("--rpc-allow takes A,B,..., and nothing follows it", done.stderr)
        self.assertEqual(done.returncode, 4)

    def test_a_command_launches_a_peer(self):
        done = run_to_end("call", "-cp", FIXTURES, "System.out.println(\"hi\"); Class.forName(\"fixtures.Main\").getName()")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(done.stdout.split()), ["fixtures.Main", "hi"])
        done = run_to_end("call", "-cp", FIXTURES, "--run", "--rpc-allow java.lang.Math", "System.nanoTime()")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_an_unknown_command_is_a_usage_error_that_names_the_most_similar_one(self):
        for words, text in ((["nope"], "unknown subcommand \"nope\" (--help lists them)"),
                            (["cal"], "unknown subcommand \"cal\": did you mean call?"),
                            (["help", "nope"], "unknown subcommand \"nope\"")):
            with self.subTest(words):
                done = run_to_end(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(text, done.stderr)

    def test_the_page_of_the_docs_has_the_options_of_each_command(self):
        page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
        names = set(re.findall(r"^  (\w+)  ", run_to_end("--help").stdout, re.M))
        names -= {"run", "policy", "token", "keygen", "completion", "man", "help"}
        groups = {"all": names, "with a peer": names - {"sessions", "end", "ps", "peers"}}
        groups["with a peer except rpc"] = groups["with a peer"] - {"rpc"}
        rows = [(re.findall(r"`(-[\w-]+)`", options), set().union(*(groups.get(word, {word}) for word in of.split(", "))))
                for options, of in re.findall(r"^\| (`-.*?) \| (.*?) \| ", page, re.M)]
        self.assertEqual(set().union(*(of for _, of in rows)), names)
        for name in names:
            with self.subTest(name):
                done = run_to_end(name, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                shown = re.findall(r"^  (-.*?)(?:  |$)", done.stdout, re.M)
                self.assertEqual(sorted(option for options, of in rows if name in of for option in options),
                                 sorted(re.findall(r"(?<![\w-])-[\w-]+", " ".join(shown))))
