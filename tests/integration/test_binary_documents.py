"""docs/binary.md and the schema for generated codecs agree with the tests' own reader; the page's example runs."""

import re
import subprocess
import sys

from support import colfer
from support.peer import ROOT, START_SECONDS, Peer
from support.peer_case import PeerCase

PAGE = (ROOT / "docs/binary.md").read_text(encoding="utf-8")


def fields(text):
    return [tuple(field.split()) for field in re.split(r",\s*|\n\s*", text.strip())]


class Documents(PeerCase):
    def assert_same_structs(self, structs):
        """Compares the document with the structs of the tests' own reader. This reader lacks the last fields of a
        message, which belong to messages that the peer does not serve."""
        structs["Message"] = structs["Message"][:len(colfer.STRUCTS["Message"])]
        self.assertEqual({name: structs.get(name) for name in colfer.STRUCTS}, colfer.STRUCTS)

    def test_the_structs_of_the_page(self):
        self.assert_same_structs({name: fields(text) for name, text in re.findall(r"^\| `(\w+)` \| `(.*?)`", PAGE, re.M)})

    def test_the_structs_of_the_schema(self):
        schema = (ROOT / "tests/colfer/jpeer.colf").read_text(encoding="utf-8")
        # The schema has "Type", because "type" is a keyword there.
        schema = re.sub(r"[ \t]*//.*", "", schema).replace("\tType ", "\ttype ")
        structs = re.findall(r"^type (\w+) struct \{\n(.*?)^\}", schema, re.M | re.S)
        self.assert_same_structs({name: fields(text) for name, text in structs})

    def test_the_example_prints_what_it_says(self):
        program = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
        with Peer() as peer:
            program = program.replace("tcp://127.0.0.1:4712", peer.address("tcp"))
            self.assertIn(peer.address("tcp"), program)
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                                  timeout=START_SECONDS)
        self.assertRegex(done.stdout, r"^b'.*\\x015.*int.*java\.lang\.Math.*'\n$")
