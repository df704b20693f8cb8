"""The documents' links lead somewhere, the files and names that they mention exist, and so do the headings that code
cites. The diagrams are as tools/state-diagrams draws them, and docs/house.md shows the folders and structs that exist. Each
figure of docs/performance.md has the command that repeats it."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.peer import ROOT, START_SECONDS

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "clients/python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = ("native", "jni", "policy", "tests", "bench", "tools", "cmake", "java-fixtures", "demo")
# A mentioned path begins at one of these.
BASES = [ROOT, *(ROOT / base for base in ("native", "native/include", "docs", "tests", "tests/unit", "bench"))]
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")
FILE = re.compile(r"[\w.-]+\.(?:c|h|py|md|json|yaml|txt|mjs|svg)")
PLACEHOLDER = re.compile(r"(?:^|/)[A-Z_]+(?:[./]|$)|_FILE|_fuzz\.c$|^(?:build|sys|arpa|netinet)/")
CITATION = re.compile(r'(docs/)?((?:internals/)?[\w.-]+\.md)((?:,? "[^"\n]+")*)')


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def headings(page):
    return re.findall(r"^#+ (.+?)\s*$", without_code(page.read_text(encoding="utf-8")), re.M)


def anchor(heading):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def find(path):
    """The file or folder that a document means by a path; None if it does not exist."""
    return next((base / path for base in BASES if (base / path).exists()), None)


def is_path(token):
    """True for a path of the project: it begins with a folder of the project, or ends like a source file."""
    if PLACEHOLDER.search(token) or not PATH.fullmatch(token):
        return False
    return find(token.split("/")[0]) is not None or FILE.fullmatch(token.rsplit("/", maxsplit=1)[-1]) is not None


def tracked(*folders):
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=False,
                            timeout=START_SECONDS)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return files or [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]


class DocsLinks(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, fragment = target.partition("#")
                file = (page.parent / name).resolve() if name else page
                with self.subTest(page=page.name, target=target):
                    self.assertTrue(file.exists())
                    if fragment:
                        self.assertIn(fragment, [anchor(heading) for heading in headings(file)])

    def test_mentioned_paths_exist(self):
        for page in PAGES:
            for token in re.findall(r"`([^`\n]+)`", without_code(page.read_text(encoding="utf-8"))):
                if is_path(token):
                    with self.subTest(page=page.name, path=token):
                        self.assertIsNotNone(find(token))

    def test_mentioned_names_are_in_their_files(self):
        """`folder/file.c` `name`, and `name` in `folder/file.c`."""
        found = 0
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            pairs = [(path, name) for path, names in re.findall(r"`([\w./-]+\.[ch])`((?:,? `\w+`)+)", text)
                     for name in re.findall(r"`(\w+)`", names)]
            pairs += [(path, name) for name, path in re.findall(r"`(\w+)` in\s`([\w./-]+\.[ch])`", text)]
            pairs += [(path, name) for path, name in re.findall(r"`([\w./-]+\.[ch])` \(`(\w+)`\)", text)]
            for path, name in pairs:
                found += 1
                with self.subTest(page=page.name, path=path, name=name):
                    self.assertRegex(find(path).read_text(encoding="utf-8"), rf"\b{name}\b")
        self.assertGreater(found, 10)

    def test_names_of_the_house_exist(self):
        """Names of C and Python, and files without their folders, on the pages about the sources."""
        files = [file for file in tracked(*SOURCES, "clients", "packaging") if file.suffix not in (".class", ".jar", ".gz", ".md")]
        names = {file.name for file in files}
        words = set(re.findall(r"\w+", "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())))
        for page in (ROOT / "docs/house.md", *sorted((ROOT / "docs/internals").glob("*.md"))):
            for token in re.findall(r"`([^`\n]+)`", without_code(page.read_text(encoding="utf-8"))):
                with self.subTest(page=page.name, name=token):
                    if FILE.fullmatch(token) and not PLACEHOLDER.search(token):
                        self.assertTrue(token in names or any((base / token).exists() for base in (page.parent, ROOT, ROOT / "docs")))
                    elif re.fullmatch(r"(?:(?:struct|enum) )?[A-Za-z]\w*(?:_\w+|[a-z][A-Z]\w*)+(?:\(\))?", token):
                        self.assertTrue(token.split()[-1].removesuffix("()") in words)

    def test_code_cites_headings_that_exist(self):
        """Comments name a page of docs/ and, in quotes after it, headings."""
        found = 0
        for file in tracked(*SOURCES):
            if file.suffix not in (".c", ".h", ".py", ".cmake", ".txt", ".yaml"):
                continue
            text = re.sub(r"\n\s*(?:\*(?!/)|//|#)? ?\s*", " ", file.read_text(encoding="utf-8", errors="replace"))
            for folder, page, cited in CITATION.findall(text):
                if not folder and (file.suffix not in (".c", ".h") or (ROOT / page).exists()):
                    continue
                found += 1
                with self.subTest(file=str(file.relative_to(ROOT)), page=page, cited=cited):
                    self.assertTrue((ROOT / "docs" / page).exists())
                    for heading in re.findall(r'"([^"]+)"', cited):
                        self.assertIn(heading, headings(ROOT / "docs" / page))
        self.assertGreater(found, 3)


def code_blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def declarations(struct):
    """The lines of a struct, without comments and spaces at their ends."""
    return {line.strip() for line in re.sub(r"/\*.*?\*/", "", struct, flags=re.S).splitlines()} - {""}


class House(unittest.TestCase):
    PAGE = ROOT / "docs/house.md"

    def test_the_picture_has_the_arrows_between_the_top_folders(self):
        """The arrows of tools/includes.json, except those that follow from others."""
        arrows = {}
        for folder, entry in json.loads((ROOT / "tools/includes.json").read_text(encoding="utf-8"))["folders"].items():
            top = re.sub(r"^native/(include/)?", "", folder).split("/")[0]
            arrows.setdefault(top, set()).update(name.split("/")[0] for name in entry["may_include"])
        arrows = {top: targets - {top} for top, targets in arrows.items()}

        def reached(top):
            return arrows[top].union(*(reached(target) for target in arrows[top]))

        expected = {(top, target) for top, targets in arrows.items() for target in targets
                    if not any(target in reached(other) for other in targets)}
        picture = code_blocks(self.PAGE, "mermaid")[0]
        drawn = set(re.findall(r"^ *(\w+)(?:\[.*?\])? --> (\w+)", picture, re.M))
        self.assertEqual(drawn, expected)

    def test_the_structs_have_the_members_that_are_shown(self):
        structs = code_blocks(self.PAGE, "c")
        self.assertEqual(len(structs), 6)
        for shown in structs:
            name, header = re.match(r"struct (\w+) \{ */\* (\S+) \*/", shown).groups()
            source = find(header).read_text(encoding="utf-8")
            struct = re.search(rf"^struct {name} \{{\n.*?^\}};", source, re.S | re.M).group()
            with self.subTest(struct=name):
                self.assertEqual(declarations(shown) - declarations(struct), set())


class Performance(unittest.TestCase):
    MEASURED = re.compile(r"<!-- bench: \w+ -->\n(.*?)<!-- end -->", re.S)
    FIGURE = re.compile(r"\d[\d,.]*[kM]? ?(?:ns|us|ms|s|[KMG]i?B|a second|%)(?![\w.])")
    COMMAND = re.compile(r"`(?:tools/bench )?--only ([\w,]+)[^`]*`, (?:commit )?[0-9a-f]{7,}")

    def test_each_figure_has_the_command_that_repeats_it(self):
        page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
        blocks = self.MEASURED.findall(page)
        self.assertEqual(self.FIGURE.findall(self.MEASURED.sub("", page)), [])
        parts = {path.stem for path in (ROOT / "bench").glob("*.py")} | {"load"}
        lines = [line for line in blocks[-1].splitlines()[3:] if line]
        self.assertGreater(len(lines), 20)
        for text in [*blocks[:-1], *lines]:
            with self.subTest(text=text):
                self.assertLessEqual(set(self.COMMAND.search(text)[1].split(",")), parts)
        self.assertEqual(len(lines), sum(self.FIGURE.search(line) is not None for line in lines))


DOOR = """enum door {
  DOOR_OPEN,  /* nobody is held up */
  DOOR_CLOSED /* who has a key may open it */
};

static const uint16_t door_transitions[] = {
    [DOOR_OPEN] = TO(DOOR_CLOSED),
    [DOOR_CLOSED] = TO(DOOR_OPEN),
};
"""
MARKERS = "# States\n\n<!-- tools/state-diagrams writes from here -->\n<!-- to here -->\n"


class StateDiagrams(unittest.TestCase):
    def test_the_page_is_as_the_sources_say(self):
        run = subprocess.run([ROOT / "tools/state-diagrams", "--check"], capture_output=True, text=True, check=False,
                             timeout=START_SECONDS)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def draw(self, source, *options, page=MARKERS, name="states.md"):
        """Runs the script for a project with one source. Returns the script's output, and the page afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path in ("tools", "docs/internals", "native"):
                (root / path).mkdir(parents=True)
            shutil.copy(ROOT / "tools/state-diagrams", root / "tools")
            (root / "native/door.h").write_text(source, encoding="utf-8")
            (root / "docs/states.md").write_text(MARKERS, encoding="utf-8")
            (root / "docs" / name).write_text(page, encoding="utf-8")
            run = subprocess.run([root / "tools/state-diagrams", *options], capture_output=True, text=True, check=False,
                                 timeout=START_SECONDS)
            return run.returncode, run.stderr, (root / "docs" / name).read_text(encoding="utf-8")

    def test_states_and_transitions_are_drawn(self):
        code, said, page = self.draw(DOOR)
        self.assertEqual((code, said), (0, ""))
        self.assertIn("| `CLOSED` | Who has a key may open it | `OPEN` |", page)
        self.assertIn("    [*] --> OPEN\n    OPEN --> CLOSED\n    CLOSED --> OPEN\n```", page)
        self.assertEqual(self.draw(DOOR, "--check", page=page), (0, "", page))

    def test_a_page_of_internals_gets_the_diagram_that_it_names(self):
        place = "before\n<!-- tools/state-diagrams draws enum {} -->\n<!-- to here -->\nafter\n"
        code, said, page = self.draw(DOOR, page=place.format("door"), name="internals/crew.md")
        self.assertEqual((code, said), (0, ""))
        self.assertRegex(page, r"(?s)^before\n<!--.*stateDiagram-v2\n.*OPEN --> CLOSED\n.*<!-- to here -->\nafter\n$")
        code, said, _ = self.draw(DOOR, page=place.format("gate"), name="internals/crew.md")
        self.assertEqual((code, said), (1, "state-diagrams: docs/internals/crew.md: enum gate has no table of transitions\n"))

    def test_an_outdated_page_is_reported_and_not_written(self):
        page = self.draw(DOOR)[2]
        changed = DOOR.replace("TO(DOOR_CLOSED)", "0")
        code, said, after = self.draw(changed, "--check", page=page)
        self.assertEqual((code, after), (1, page))
        self.assertIn("docs/states.md is not what the sources say", said)

    def test_a_table_that_does_not_fit_its_enum_is_a_complaint(self):
        for source, complaint in (
            (DOOR.replace("    [DOOR_CLOSED] = TO(DOOR_OPEN),\n", ""), "DOOR_OPEN leads to DOOR_CLOSED, which has no row"),
            (DOOR.replace("DOOR_CLOSED /*", "DOOR_CLOSED, DOOR_LOCKED /*"), "differ in DOOR_LOCKED"),
            (DOOR.replace("TO(DOOR_OPEN)", "1 << DOOR_OPEN"), "neither 0 nor made of TO(...)"),
            (DOOR[DOOR.index("static") :], "no enum has DOOR_OPEN"),
            ("", "no table of transitions was found"),
        ):
            with self.subTest(complaint=complaint):
                code, said, page = self.draw(source)
                self.assertEqual((code, page), (1, MARKERS))
                self.assertIn(complaint, said)
