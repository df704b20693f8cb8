"""Runs random and changed scripts of jpeer shell on a real peer, and reports which promises held.

usage: mutate_scripts.py [--bytes N] [--seed N] [--processes N]

Half of the scripts are made of the language's parts at random, half are programs of the tests with changed words and bytes.
Requirements: jpeer shell ends with a status of its table, by itself or soon after Ctrl-C, and no sanitizer complains; the
peer holds no object afterwards. Scripts have neither "\\" nor "|", because these run commands of the system.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.peer import BINARY, COMPLAINTS, Peer, environment  # noqa: E402

PATIENCE_SECONDS = 10
STATUSES = {0, 1, 2, 3, 5, 130}
PROGRAMS = (
    "xs = [3, 1, 2]; xs.sort((a, b) -> b.compareTo(a)); xs",
    "s = 0; for (int x : new int[] {1, 2, 3}) { if (x == 2) continue; if (x > 9) break; s = s + x }; s",
    "f = (n) -> { if (n < 2) return 1; n * f(n - 1) }; f(5)",
    "m = {a: 1}; m[\"b\"] = [2, 3]; for (e : m) e.getKey() + e.getValue(); m",
    "try { Integer.parseInt(\"x\") } catch (NumberFormatException e) { e.getMessage() }",
    "try (r = new java.io.StringReader(\"ab\")) { (char) r.read() } catch (e) { throw e }",
    "a = new int[2][3]; a[1][2] = 5; a[1][2] + a[0].length; a[0][1:]",
    "[1, 2].stream().map(x -> { y = x + 1; y }).collect(Collectors.toList())",
    "List<String> xs = new ArrayList<>(); xs.add(\"q\"); xs.forEach(x -> xs.size()); xs.get(0)[0]",
    "i = 0\nwhile (i < 5 && !(i == 4)) { i = i + 1 }\ni > 3 ? \"a\" : 'b'",
    "g = String::valueOf; Arrays.asList(1, 2).stream().map(g).collect(Collectors.toList())",
    "o = new StringBuilder(\"\"\"\n  text\n  \"\"\"); o.append(1L).append(2.5f).reverse(); o == o",
    "import java.util.concurrent.*; TimeUnit.SECONDS.toMillis(5) % 7 - -0x1F / 3",
    "x = new Object(); y = [x, x]; x = null; y.hashCode() != 0 && y instanceof List",
)
ATOMS = ("x", "y", "f", "s", "1", "0", "-1", "2.5", "5L", "'c'", "\"t\"", "true", "null", "[]", "{}", "[1, x]", "{a: x}", "Math", "List",
         "String", "new ArrayList()", "new int[3]", "_", "$1", "java.util.Map", "args")
OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "=", ".", "->", "::", "?", ":", ",", ";", "\n", "(", ")",
             "[", "]", "{", "}", "instanceof", "for", "if", "else", "try", "catch", "throw", "return", "break", "new", "import", "var")
MEMBERS = ("size", "add", "get", "length", "toString", "hashCode", "stream", "forEach", "equals", "max", "of", "getClass", "iterator", "put")


def operand(rng, depth):
    return f"({expression(rng, depth - 1)})" if depth > 0 and rng.random() < 0.6 else rng.choice(ATOMS)


def expression(rng, depth):
    if depth <= 0 or rng.random() < 0.2:
        return rng.choice(ATOMS)
    e = lambda: expression(rng, depth - 1)  # noqa: E731
    o = lambda: operand(rng, depth)  # noqa: E731
    return rng.choice((
        lambda: f"{o()} {rng.choice(OPERATORS[:12])} {o()}", lambda: f"({e()})", lambda: f"- {o()}", lambda: f"!{o()}",
        lambda: f"{o()}.{rng.choice(MEMBERS)}({', '.join(e() for _ in range(rng.randint(0, 2)))})",
        lambda: f"{o()}[{e()}]", lambda: f"{o()}[{o()}:{e()}]", lambda: f"({rng.choice(('int', 'long', 'Object', 'List'))}) {o()}",
        lambda: f"x -> {e()}", lambda: f"(x, y) -> {{ {statement(rng, depth - 1)} }}", lambda: f"f({e()})", lambda: f"[{e()}, {e()}]",
        lambda: f"{{k: {e()}, \"l\": {e()}}}", lambda: f"{o()} ? {o()} : {e()}", lambda: f"new int[] {{{e()}}}"))()


def statement(rng, depth):
    e = lambda: expression(rng, max(depth, 0))  # noqa: E731
    if depth <= 0 or rng.random() < 0.3:
        return e()
    s = lambda: statement(rng, depth - 1)  # noqa: E731
    return rng.choice((
        lambda: f"{rng.choice('xyfs')} = {e()}", lambda: f"{rng.choice('xyfs')}[{e()}] = {e()}", lambda: f"for (x : {e()}) {{ {s()}; {s()} }}",
        lambda: f"if ({e()}) {{ {s()} }} else {{ {s()} }}", lambda: f"try {{ {s()} }} catch (e) {{ {s()} }}", lambda: f"throw {e()}",
        lambda: f"f = {e()}", lambda: f"{s()}\n{s()}"))()


def changed(rng, program):
    for _ in range(rng.randint(1, 4)):
        at, end = sorted(rng.randint(0, len(program)) for _ in range(2))
        way = rng.randint(0, 4)
        if way == 0:
            program = program[:at] + rng.choice(OPERATORS + ATOMS) + program[at:]
        elif way == 1:
            program = program[:at] + program[min(end, at + 9):]
        elif way == 2:
            program = program[:end] + program[at:end] + program[end:]
        elif way == 3:
            program = program[:at] + rng.choice("\0\x01\"'`~#@\u00e9\U0001f600/*{[(0eE.") + program[at + 1:]
        else:
            program = program[:at] + rng.choice(PROGRAMS) + program[end:]
    return program


def make_script(rng):
    if rng.random() < 0.5:
        text = "\n".join(f"try {{ {statement(rng, 4)} }} catch (e) {{ e }}" for _ in range(3))
    else:
        text = changed(rng, rng.choice(PROGRAMS))
    return "x = 1; y = [2]; f = q -> q; s = \"s\"\n" + text.translate({ord("\\"): "/", ord("|"): "&"})[:4000]


def run_script(address, folder, number, script, faults):
    """folder: for the files that the script writes ("> 1")."""
    with subprocess.Popen([BINARY.resolve(), "shell", "-u", address, "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, cwd=folder, env=environment(leaks=True)) as process:
        try:
            errors = process.communicate(script.encode(), timeout=PATIENCE_SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                errors = process.communicate(timeout=PATIENCE_SECONDS)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                errors = process.communicate()[1]
                faults.append((number, "did not end after Ctrl-C", script, ""))
    text = errors.decode(errors="replace")
    if process.returncode not in STATUSES or COMPLAINTS.search(text):
        faults.append((number, f"status {process.returncode}", script, text))
    return process.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    scripts = []
    while sum(map(len, scripts)) < options.bytes:
        scripts.append(make_script(rng))
    faults = []
    with (tempfile.TemporaryDirectory(prefix="jpeer-scripts-") as folder,
          Peer("--rpc-policy-preset", "deny-unsafe,deny-files,deny-reflection,deny-jdk-internals") as peer):
        with ThreadPoolExecutor(options.processes) as pool:
            statuses = list(pool.map(lambda item: run_script(peer.address("ws"), folder, *item, faults), enumerate(scripts)))
        peer.stop()
    print(f"{len(scripts)} scripts, seed {options.seed}:", ", ".join(f"status {status}: {statuses.count(status)}"
                                                                       for status in sorted(set(statuses))))
    for number, what, script, text in faults[:10]:
        print(f"--- script {number}: {what}\n{script!r}\n{text[-3000:]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
