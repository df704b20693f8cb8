"""Measures how much of the product's behaviour the tests check: changes lines of the product, and counts the changes
that no test notices.

usage: sabotage.py [--changes N] [--seed N] [--files PATTERN] [--layers] [--parts N/M] [--than FILE]

A fixed seed chooses N lines (100) among all C files of the product, or all C files with PATTERN in their
path. Each line is changed in one of three ways: a comparison (< becomes <=, == becomes !=), a constant (one
more), or a call whose result is not used (removed). All changes are compiled into one build of a copy of this
tree, in build/sabotage. A switch in the environment turns each change on (sabotage.h).

First each test (units, conformance, integration, the Python package) runs once on the unchanged product, and records
which changes it reaches. After that, each change is turned on, and the tests that reach it run, the shortest
first, until one fails twice. With --layers they run until one of each layer fails, which shows what would be
lost without a layer.

The results for one state of the tree are stored in a file of build/sabotage, which the last line names, and are not
repeated: an interrupted run is started again, and --parts 1/4 runs a quarter. After a change of only the tests, --than
names the earlier results: the test that noticed a change then runs first.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import run_tests  # noqa: E402

WORK = ROOT / "build/sabotage"
TREE = WORK / "tree"
PRODUCT = ("native/", "jni/", "policy/", "clients/python/src/")
LAYERS = {"units": "units", "conformance": "conformance", "integration": "integration", "python-package": "python"}
AT_ONCE = 2 * len(os.sched_getaffinity(0))
LARGEST = 4000  # below SABOTAGE_REACHED_SIZE
# Comments, texts and preprocessor lines are one token each, so that nothing inside them is changed.
TOKEN = re.compile(r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|^\#(?:\\\n|[^\n])*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\d[\w.]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""", re.X | re.S | re.M)
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# Tokens that end an operand of a comparison at its own depth.
ENDS = {"&&", "||", "?", ":", ";", ",", "=", "{", "}", "return", "+=", "-=", "|=", "&=", "<<=", ">>=", "==", "!=", "<", ">",
        "<=", ">="}
OPEN, CLOSED = set("([{"), set(")]}")
# Calls without behaviour: assertions, C's variable arguments, and hints for the reader or the compiler.
NO_CALL = re.compile(r"^(assert|static_assert|va_\w+|if|while|for|switch|return|sizeof|[A-Z_0-9]+)$")


class Token:
    def __init__(self, match):
        self.kind, self.text, self.start, self.end = match.lastgroup, match[0], match.start(), match.end()


def tokens_of(source):
    return [token for token in map(Token, TOKEN.finditer(source)) if token.kind != "space"]


def operand(tokens, index, step):
    """The last token of the operand that begins next to tokens[index], forwards or backwards."""
    depth, last = 0, None
    more, less = (OPEN, CLOSED) if step > 0 else (CLOSED, OPEN)
    while True:
        index += step
        token = tokens[index].text
        if depth == 0 and (token in less or token in ENDS):
            return last
        depth += (token in more) - (token in less)
        last = index


def bodies(tokens):
    """The ranges of tokens in the bodies of functions: a { } after a )."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.text == "{":
            if depth == 0:
                start = index
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0 and tokens[start - 1].text == ")":
                yield start, index


def statement_start(tokens, index):
    while tokens[index - 1].text not in ";{}":
        index -= 1
    return index


def sites(source):
    """Returns all possible changes of this file: kind, from, to, and the replacement with %d for its number."""
    tokens = tokens_of(source)
    for begin, end in bodies(tokens):
        for index in range(begin + 1, end):
            token = tokens[index]
            first = tokens[statement_start(tokens, index)].text
            if first in ("case", "static", "static_assert", "enum", "default"):
                continue
            if token.text in COMPARISONS:
                left, right = operand(tokens, index, -1), operand(tokens, index, 1)
                if left is None or right is None:
                    continue
                a = source[tokens[left].start:token.start].strip()
                b = source[token.end:tokens[right].end].strip()
                yield ("comparison", tokens[left].start, tokens[right].end,
                       f"(sabotage_on(%d) ? ({a}) {COMPARISONS[token.text]} ({b}) : ({a}) {token.text} ({b}))")
            elif token.kind == "number" and tokens[index - 1].text != "[" and re.fullmatch(r"\d+u?", token.text):
                yield "constant", token.start, token.end, f"(sabotage_on(%d) ? {token.text} + 1 : {token.text})"
            elif token.kind == "name" and tokens[index + 1].text == "(" and not NO_CALL.match(token.text):
                if tokens[index - 1].text not in (";", "{", "}", ")", "else"):
                    continue
                if tokens[index - 1].text == ")" and first not in ("if", "for", "while", "else"):
                    continue  # a cast, or a declaration
                close = operand(tokens, index, 1)
                if close is None or tokens[close + 1].text != ";" or tokens[close].text != ")":
                    continue
                call = source[token.start:tokens[close].end]
                yield "call", token.start, tokens[close].end, f"(sabotage_on(%d) ? (void)0 : (void){call})"


def product_files(pattern):
    listed = subprocess.run(["git", "ls-files", "*.c"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if path.startswith(PRODUCT) and re.search(pattern, path)]


def choose(count, seed, pattern):
    """Chooses `count` changes, in a random order that depends only on the sources and the seed. No two changes of a
    file overlap."""
    found = [(path, site) for path in product_files(pattern) for site in sites((ROOT / path).read_text())]
    random.Random(seed).shuffle(found)
    chosen = []
    for path, (what, start, end, text) in found:
        if len(chosen) == count:
            break
        if all(path != other["path"] or end <= other["start"] or start >= other["end"] for other in chosen):
            source = (ROOT / path).read_text()
            lines = [source[source.rfind("\n", 0, start) + 1:source.find("\n", end)].strip()]
            chosen.append({"path": path, "what": what, "start": start, "end": end, "text": text,
                           "line": source.count("\n", 0, start) + 1, "source": " ".join(lines[0].split())})
    return chosen


def identity(change):
    """Identifies a change even if the product around it changes."""
    return change["path"], change["what"], change["source"]


def write_tree(changes):
    """A copy of this tree in which a switch turns on each change."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for path in filter(None, listed):
        source, target = ROOT / path, TREE / path
        if not source.exists():
            continue
        text = source.read_bytes()
        mine = sorted((change for change in changes if change["path"] == path), key=lambda change: -change["start"])
        if mine:
            content = source.read_text()
            for change in mine:
                content = (content[:change["start"]] + change["text"].replace("%d", str(change["number"]), 1)
                           + content[change["end"]:])
            text = (f'#include "{ROOT}/tests/release/sabotage.h"\n#line 1\n' + content).encode()
        if not target.exists() or target.read_bytes() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
            shutil.copymode(source, target)
    for path in TREE.rglob("*"):  # the runners would find files that were removed from the tree
        name = str(path.relative_to(TREE))
        if path.is_file() and not name.startswith("build/") and name not in listed and "__pycache__" not in name:
            path.unlink()


def build():
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    subprocess.run(["cmake", "--preset", "release", "-DJPEER_LTO=OFF", "-DCMAKE_C_FLAGS=-w", *launcher], cwd=TREE,
                   stdout=subprocess.DEVNULL, check=True)
    return subprocess.run(["cmake", "--build", "build/release", "--", "-k", "0"], cwd=TREE, capture_output=True, text=True,
                          check=False)


def build_with(count, seed, pattern):
    """The changes that compile, with numbers. Some do not, because the compiler needs a constant, for example."""
    wanted, refused = count, set()
    while True:
        changes = [change for change in choose(wanted, seed, pattern)
                   if (change["path"], change["start"]) not in refused][:count]
        for number, change in enumerate(changes):
            change["number"] = number
        write_tree(changes)
        done = build()
        if done.returncode == 0:
            return changes
        bad = {(match[1], int(match[2])) for match in
               re.finditer(r"(?:^|/)((?:native|jni|policy|clients)/\S+?):(\d+):\d+: error", done.stdout, re.M)}
        before = len(refused)
        for change in changes:
            if any(change["path"] == path and 0 <= line - change["line"] <= 8 for path, line in bad):
                refused.add((change["path"], change["start"]))
        if len(refused) == before:
            sys.exit(f"sabotage: the build fails\n{done.stdout[-6000:]}")
        wanted = count + len(refused)


def list_tests():
    """Each test with its layer, its command and its environment."""
    for name, _, _, commands, environment in run_tests.FIRST_STEPS:
        if name not in LAYERS:
            continue
        layer = LAYERS[name]
        if layer == "conformance":
            for suite in sorted(path.name for path in (ROOT / "tests/conformance").iterdir() if any(path.glob("*.json"))):
                yield f"conformance {suite}", layer, [*commands[0], "--suite", suite], environment
        elif layer == "python":
            for module in sorted((ROOT / "clients/python/tests").glob("test_*.py")):
                yield f"python {module.name}", layer, [*commands[0], module.name], environment
        else:
            for command in commands:
                if command[0] == "ctest":
                    listed = subprocess.run([*command, "--show-only=json-v1"], cwd=TREE, capture_output=True, check=True)
                    for test in json.loads(listed.stdout)["tests"]:
                        yield (f"{layer} {test['name']}", layer,
                               [*command[:4], "--tests-regex", f"^{re.escape(test['name'])}$"], environment)
                else:
                    yield f"{layer} {command[-1]}", layer, command, environment


def run(test, limit, **more):
    """Runs a test, and ends its remaining processes. Returns whether the test passed, and its seconds."""
    _, _, command, environment = test
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=TREE, env={**os.environ, **environment, **more}, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        passed = status == 0 and run_tests.count(output.read().decode(errors="replace"), status)[1] == 0
    return passed, time.monotonic() - start


class Results:
    """The results for one state of the tree, written after each step."""

    def __init__(self, changes):
        digest = hashlib.sha256(json.dumps(changes, sort_keys=True).encode())
        for path in sorted(path for path in TREE.rglob("*") if path.is_file()):
            if "build" not in path.relative_to(TREE).parts and "__pycache__" not in path.parts:
                digest.update(path.read_bytes())
        self.path = WORK / f"results-{digest.hexdigest()[:12]}.json"
        self.data = json.loads(self.path.read_text()) if self.path.exists() else {"tests": {}, "changes": {}, "layers": {}}

    def save(self):
        self.path.write_text(json.dumps(self.data, indent=1))


def reach(results, tests, changes):
    """Runs each test once on the unchanged product, several at the same time, and records the changes that it
    reaches."""
    def once(test):
        with tempfile.NamedTemporaryFile(dir=WORK) as file:
            file.write(bytes(LARGEST))
            file.flush()
            passed, seconds = run(test, 900, SABOTAGE_REACHED=file.name)
            if not passed:
                passed, seconds = run(test, 900, SABOTAGE_REACHED=file.name)
            file.seek(0)
            reached = file.read()
        return test[0], {"passed": passed, "seconds": round(seconds, 2),
                         "reaches": [change["number"] for change in changes if reached[change["number"]]]}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one in as_completed([pool.submit(once, test) for test in tests if test[0] not in results.data["tests"]]):
            name, found = one.result()
            results.data["tests"][name] = found
            results.save()
            if not found["passed"]:
                print(f"without any change, {name} fails: it notices nothing here", flush=True)


def notice(results, tests, number, first, by_layer):
    """The tests that notice a change: the first test, or one test of each layer."""
    known = results.data["tests"]
    candidates = [test for test in tests if known[test[0]]["passed"] and number in known[test[0]]["reaches"]]
    candidates.sort(key=lambda test: (test[0] not in first, known[test[0]]["seconds"]))
    noticed = {}

    def try_one(test):
        if (test[1] in noticed) if by_layer else noticed:
            return
        limit = 20 + 6 * known[test[0]]["seconds"]
        if not run(test, limit, SABOTAGE=str(number))[0] and not run(test, limit, SABOTAGE=str(number))[0]:
            noticed.setdefault(test[1], test[0])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(try_one, candidates))
    return {"by": noticed, "asked": len(candidates)}


def show(results, changes, found):
    for change in changes:
        result = found.get(str(change["number"]))
        if result is not None and not result["by"]:
            print(f"{change['path']}:{change['line']}: {change['what']}, "
                  f"{'reached by ' + str(result['asked']) + ' tests' if result['asked'] else 'reached by none'}: "
                  f"{change['source']}")
    noticed = sum(1 for result in found.values() if result["by"])
    for layer in LAYERS.values():
        print(f"{layer}: {sum(1 for result in found.values() if layer in result['by'])}")
    print(f"{results.path.relative_to(ROOT)}: of {len(changes)} changes {len(found)} tried, {noticed} noticed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default="", metavar="PATTERN")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--parts", default="1/1", metavar="N/M")
    parser.add_argument("--than", type=Path, metavar="FILE")
    options = parser.parse_args()
    part, parts = map(int, options.parts.split("/"))
    os.environ.pop("JAVA_HOME", None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    WORK.mkdir(parents=True, exist_ok=True)
    changes = build_with(min(options.changes, LARGEST), options.seed, options.files)
    tests = list(list_tests())
    results = Results(changes)
    done = results.data["layers" if options.layers else "changes"]
    before = {identity(one): one["by"].values()
              for one in json.loads(options.than.read_text())["changes"].values()} if options.than else {}
    reach(results, tests, changes)
    for change in changes[part - 1::parts]:
        number = str(change["number"])
        if number in done:
            continue
        start = time.monotonic()
        found = notice(results, tests, change["number"], before.get(identity(change), ()), options.layers)
        done[number] = {**found, **{name: change[name] for name in ("path", "line", "what", "source")}}
        results.save()
        print(f"{number} {change['path']}:{change['line']} {change['what']}: "
              f"{', '.join(found['by'].values()) or 'NOT NOTICED'} ({time.monotonic() - start:.0f} s)", flush=True)
    show(results, changes, done)


if __name__ == "__main__":
    main()
