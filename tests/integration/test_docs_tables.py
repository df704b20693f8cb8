"""Tables of the protocol's pages agree with the program: defaults with `jpeer run --help`, names with `rpc.discover`.
operations.md has each line of the log.
"""

import re
import unittest

from support.clients import HttpClient
from support.peer import ROOT, run_to_end
from support.peer_case import PeerCase

FACTORS = {"": 1, "K": 2 ** 10, "M": 2 ** 20, "G": 2 ** 30, "KiB": 2 ** 10, "MiB": 2 ** 20, "s": 1000, "m": 60000, "min": 60000}


def quantity(text):
    """The number, bytes or milliseconds at the beginning of a text; None if it begins with something else."""
    found = re.match(r"(\d[\d,]*) ?(KiB|MiB|min|[KMGsm]\b)?", text)
    return found and int(found[1].replace(",", "")) * FACTORS[found[2] or ""]


def tables(page):
    """Each table: its heading cells, and the cells of its rows."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        head, _, *rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]
        yield head, rows


def table(page, *beginning):
    return next(rows for head, rows in tables(page) if tuple(head[:len(beginning)]) == beginning)


def names_in(cell):
    return re.findall(r"`(\w+)`", cell)


class DocsTables(PeerCase):
    options = ()
    kind = HttpClient

    def setUp(self):
        super().setUp()
        self.document = self.client.request("rpc.discover")["result"]
        self.methods = {method["name"]: method for method in self.document["methods"]}

    def test_defaults_of_limits(self):
        help_text = run_to_end("run", "--help").stdout
        shown = dict(re.findall(r"^  (?:-\w, )?(--[\w-]+)\b(?:(?!\n  -).)*? \[([^\]\n]+)\]$", help_text, re.M | re.S))
        compared = set()
        for page in ("limits.md", "protocol.md"):
            for head, rows in tables(page):
                if head[0] != "what" or head[2] != "flag":
                    continue
                for what, standard, flag, _ in rows:
                    named = re.match(r"`(--[\w-]+)`", flag)
                    if named is None or quantity(standard) is None or "`--" in standard.partition(",")[2].partition(" or ")[0]:
                        continue
                    with self.subTest(page=page, what=what):
                        self.assertIn(named[1], shown)
                        self.assertEqual(quantity(shown[named[1]]), quantity(standard))
                    compared.add(named[1])
        self.assertGreater(len(compared), 20)

    def test_highest_depth(self):
        depth, = (row for row in table("protocol.md", "what", "limit") if "--depth-max" in row[2])
        highest = int(re.search(r"at most (\d+)", depth[1])[1])
        self.start("--depth-max", str(highest))
        refused = run_to_end("run", "--depth-max", str(highest + 1), "--as-service")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--depth-max", refused.stderr)

    def test_parameters_of_methods(self):
        for name, required, optional in table("protocol.md", "method", "required", "optional"):
            method = self.methods[name.strip("`")]
            with self.subTest(method=name):
                self.assertEqual(set(names_in(required)) | set(names_in(optional)), {each["name"] for each in method["params"]})
                always = {each for each in names_in(required) if f"`{each}` (or" not in required} - {"instance"}
                self.assertEqual(always, {each["name"] for each in method["params"] if each["required"]})

    def test_control_methods(self):
        rows = table("protocol.md", "`method` (in any case)")
        shown = next(each for each in self.methods["control"]["params"] if each["name"] == "method")["schema"]["enum"]
        self.assertEqual(sorted(row[0].strip("`") for row in rows), sorted(shown))

    def test_options(self):
        schema = self.document["components"]["schemas"]["RequestOptions"]
        self.assertEqual(sorted(row[0].strip("`") for row in table("protocol.md", "option")), sorted(schema["properties"]))

    def test_error_codes(self):
        page = {int(code): message for code, message, _ in table("protocol.md", "code", "`message`")}
        self.assertEqual(page.pop(-32700), "Parse error")  # not an error of a method
        self.assertEqual(page, {each["code"]: each["message"] for each in self.document["components"]["errors"].values()})

    def test_parameters_of_fetch(self):
        rows = table("pieces.md", "parameter")
        self.assertEqual({row[0].strip("`") for row in rows}, {each["name"] for each in self.methods["jpeer.fetch"]["params"]})

    def test_parameters_of_columns_and_rows(self):
        for name in ("jpeer.columns", "jpeer.rows"):
            rows = table("tables.md", f"parameter of `{name}`")
            self.assertEqual({row[0].strip("`") for row in rows}, {each["name"] for each in self.methods[name]["params"]})

    def test_digits_of_results(self):
        """limits.md, "Digits": the text of a BigInteger is sent with its ref up to --number-digits-max."""
        limit = next(quantity(row[1]) for _, rows in tables("limits.md") for row in rows if "`--number-digits-max`" in row[2:3])
        for digits, has_text in ((limit, True), (limit + 1, False)):
            result = self.client.value("call", {"type": "java.math.BigInteger", "method": "pow", "args": [digits - 1],
                                                "instance": {"type": "java.math.BigInteger", "value": "10"}})
            self.assertIn("ref", result)
            self.assertEqual("value" in result, has_text)


SOURCES = ("native", "jni", "policy")
LITERALS = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*)+')
ANYTHING = ""  # stands for what a line has in the place of a %s
# Where the texts are that a variable passes to the log.
MADE = {
    "native/base/log.c": ("native/base/log.c", r'"%" PRIu64 " lines [^"]*"'),
    "native/classfile/builder.c": ("native/classfile/builder.c", r'"metadata: %s[^"]*"'),
    "native/cli/run_options.c": ("native/cli/java_options.c", r'IGNORE_WITH_NOTICE,\s*\.text = "[^"]*"'),
    "native/cli/run_subcommand.c": ("policy/policy.c", r'"RPC policy: [^"]*(?:"\s*"[^"]*)*"'),
    "native/net/workers/crew_watcher.c": ("native/net/workers/crew_watcher.c", r'"%u calls are in Java[^"]*"'),
    "policy/policy_source.c": ("policy/policy.c", r'"RPC policy: [^"]*(?:"\s*"[^"]*)*"'),
}


def read_formats(code):
    """The literals of an expression in C, each as a list of characters and ANYTHING."""
    for literals in LITERALS.findall(re.sub(r'"\s*PRI\w+\s*"', "d", code)):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')
        parts = re.split(r"%(?:\.\*|[-.\d])*(?:ll|z)?[a-z]", text)
        yield [letter for part in parts for letter in (ANYTHING, *part)][1:]


def first_argument(code):
    """The first argument of a call, whose parenthesis is open at the beginning of the code."""
    depth, end = 0, 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[(),]', code):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0 or (depth == 0 and token[0] == ","):
            end = token.start()
            break
    return code[:end]


def lines_of_log():
    """The lines that a peer may write at the level info, warn or error, as lists of characters and ANYTHING."""
    for path in (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.c"))):
        code, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        texts = [(name, line) for call in re.finditer(r"\blog_(?:info|warn|error)(?:_rarely)?\(", code)
                 for line in read_formats(first_argument(code[call.end():]))]
        if name in MADE:
            file, pattern = MADE[name]
            found = re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"))
            assert found, f"{file} has no {pattern}"
            texts += [(name, line) for expression in found for line in read_formats(expression)]
        yield from ((name, line) for name, line in texts if any(line) or name not in MADE)


def shows(shown, line):
    """True if a document shows this line: the whole of it, or its beginning and `...`."""
    places = {0}
    for letter in shown.removesuffix("..."):
        for place in sorted(places):
            while place < len(line) and line[place] == ANYTHING and place + 1 not in places:
                place += 1
                places.add(place)
        places = ({place for place in places if line[place:place + 1] == [ANYTHING]}
                  | {place + 1 for place in places if line[place:place + 1] == [letter]})
    literals = [place for place in places if sum(map(bool, line[:place])) >= min(10, sum(map(bool, line)))]
    return bool(literals) if shown.endswith("...") else any(not any(line[place:]) for place in places)


class LinesOfTheLog(unittest.TestCase):
    maxDiff = None

    def test_operations_has_each_line_and_no_other(self):
        lines = list(lines_of_log())
        self.assertGreater(len(lines), 80)
        shown = [text for head, rows in tables("operations.md") if head[0] == "line"
                 for row in rows for text in re.findall(r"`(.+?)`", row[0])]
        self.assertEqual([], [f"{name}: {''.join(part or '...' for part in line)}" for name, line in lines
                              if not any(shows(text, line) for text in shown)], "lines that operations.md lacks")
        self.assertEqual([], [text for text in shown if not any(shows(text, line) for _, line in lines)],
                         "lines of operations.md that no peer writes")


if __name__ == "__main__":
    unittest.main()
