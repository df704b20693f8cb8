"""Every message that a page shows is sent, or received, as the page says.

A block of messages has the language json, or begins with an arrow: the client sends the messages after "->". A message
begins at the beginning of a line, and its further lines are indented. In a message of the peer "..." stands for any
text, any further members or any further elements. Each block has a session of its own. A comment before a block
describes the state in which the block is run:

    <!-- run with
    peer --thread-affinity ...    options of the block's own peer; with "without class path" it has no class path
    7 = METHOD PARAMS             an object whose ref is 7
    send MESSAGE                  is sent before the block; its answer is dropped, unless it has an id
    -->

A block whose messages have neither `method` nor `result` is arguments: each is passed to java.util.Objects.isNull.
"""

import http.client
import json
import re
import socket
import unittest

from support.clients import SECONDS, WebSocketClient
from support.peer import FIXTURES, ROOT
from support.peer_case import PeerCase

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- run with\n(?P<before>(?:(?!-->).)*?)-->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```", re.S | re.M)
HANDSHAKE = re.compile(r"^<!-- run over the Unix socket -->\n```\n(.*?)^```\n\n```\n(.*?)^```", re.S | re.M)
MESSAGE = re.compile(r"^(?:[-<][->] )?[\[{].*\n(?:[ ]+.*\n)*", re.M)
BEFORE = "before"  # the id of the message that is sent before a block
# Pages with examples: the test fails if one of these pages has no example any more.
EXPECTED = {"protocol.md", "values.md", "pieces.md", "callbacks.md", "threads.md", "metadata.md", "descriptions.md"}


def parse(text):
    """Parses a message, whose numbers may have suffixes."""
    strings = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return json.loads("".join(part if part.startswith('"') else re.sub(r"(\d)[dflDFL]\b", r"\1", part) for part in strings))


def blocks(page):
    """Yields (line, text of the comment, texts of the messages) for each block of messages."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found["language"] == "json" or re.match(r"(?:->|<-) ", found["text"]):
            line = text.count("\n", 0, found.start("text"))
            yield line, (found["before"] or "").splitlines(), [message[0] for message in MESSAGE.finditer(found["text"])]


def matches(expected, actual):
    if isinstance(expected, str) and "..." in expected:
        pattern = ".*".join(re.escape(part) for part in expected.split("..."))
        return isinstance(actual, str) and re.fullmatch(pattern, actual, re.S) is not None
    if isinstance(expected, dict):
        return (isinstance(actual, dict) and ("..." in expected or set(expected) == set(actual))
                and all(name in actual and matches(value, actual[name]) for name, value in expected.items() if name != "..."))
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return False
        if "..." in expected:  # in this order; other elements may be between them
            rest = iter(actual)
            return all(any(matches(each, one) for one in rest) for each in expected if each != "...")
        return len(expected) == len(actual) and all(map(matches, expected, actual))
    return type(expected) is type(actual) and expected == actual


class Session:
    """A client that follows a page."""

    def __init__(self, client):
        self.client = client
        self.names = {}       # values that the peer chose, by the page's values
        self.open = set()     # ids of requests without an answer
        self.last = 0         # the last ref that the session has given

    def send(self, text):
        for page, actual in self.names.items():
            text = text.replace(json.dumps(page), json.dumps(actual))
        message = parse(text)
        for each in message if isinstance(message, list) else [message]:
            if "method" in each and "id" in each:
                self.open.add(json.dumps(each["id"]))
        self.client.send(text)

    def request(self, method, params):
        """Sends a request, and returns its result. No other request may be in flight."""
        self.client.send(json.dumps({"jsonrpc": "2.0", "id": BEFORE, "method": method, "params": params}))
        answer = json.loads(self.client.receive())
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def make(self, number, method, params):
        """Makes an object with this ref. Before that, makes other objects to use up the lower numbers."""
        for self.last in range(self.last + 1, number):
            self.request("java.lang.Object.new", [])
        result = self.request(method, params)
        self.last = result["ref"] if "ref" in result else result["value"]["ref"]
        if self.last != number:
            raise AssertionError(f"{self.last} in place of {number}")

    def prepare(self, line):
        if made := re.fullmatch(r"(\d+) = (\S+) (.*)", line):
            self.make(int(made[1]), made[2], json.loads(made[3].replace("$FIXTURES", str(FIXTURES))))
        elif sent := re.fullmatch(r"send (.*)", line):
            self.client.send(json.dumps({"jsonrpc": "2.0", "id": BEFORE, **json.loads(sent[1])}))
        else:
            raise AssertionError(f"not understood: {line}")

    def receive(self):
        while True:
            message = json.loads(self.client.receive())
            if not isinstance(message, dict) or message.get("id") != BEFORE:
                return message

    def expect(self, expected):
        """Checks that the peer's next message is the page's."""
        actual = self.receive()
        if isinstance(actual, dict) and isinstance(expected.get("id"), str) and expected["id"].startswith("cb-"):
            if "method" in expected and "method" in actual:
                self.names[expected["id"]] = actual["id"]
            expected = {**expected, "id": self.names[expected["id"]]}
        if not matches(expected, actual):
            raise AssertionError(f"received {json.dumps(actual)[:2000]}\nthe page has {json.dumps(expected)}")
        self.open.discard(json.dumps(actual.get("id")))

    def finish(self):
        """Checks that requests whose answers the page does not show have succeeded."""
        while self.open:
            message = self.receive()
            for answer in message if isinstance(message, list) else [message]:
                if "error" in answer:
                    raise AssertionError(str(answer))
                self.open.discard(json.dumps(answer["id"]))

    def follow(self, messages):
        for text in messages:
            message = parse(text.removeprefix("-> ").removeprefix("<- "))
            if text.startswith("<- "):
                self.expect(message)
            elif text.startswith("-> "):
                self.send(text[3:])
            elif isinstance(message, list) or "method" in message:
                self.send(text)
            elif "result" in message or "error" in message:
                self.expect(message)
            else:
                self.send(json.dumps({"jsonrpc": "2.0", "id": "argument", "method": "call", "params": {
                    "type": "java.util.Objects", "method": "isNull", "args": ["ARGUMENT"]}}).replace('"ARGUMENT"', text))
                self.expect({"jsonrpc": "2.0", "id": "argument", "result": {"void": False, "value": {
                    "type": "boolean", "null": False, "value": "false"}}})
        self.finish()


class DocsExamples(PeerCase):
    options = ()

    def test_each_block_of_messages(self):
        pages = set()
        for page in PAGES:
            for line, before, messages in blocks(page):
                pages.add(page.name)
                with self.subTest(page=page.name, line=line):
                    self.assertTrue(messages)
                    self.run_block(before, messages)
        self.assertLessEqual(EXPECTED, pages)

    def run_block(self, before, messages):
        options = [line.removeprefix("peer ") for line in before if line.startswith("peer ")]
        peer = self.peer
        if "without class path" in options:
            peer = self.start(class_path=None)
        elif options:
            peer = self.start(*options[0].split())
        with WebSocketClient(peer) as client:
            session = Session(client)
            for line in before:
                if not line.startswith("peer "):
                    session.prepare(line)
            session.follow(messages)
        self.peer = type(self).peer

    def test_the_handshake_of_shared_memory(self):
        peer = self.start(sockets=True, addresses=False)
        found = 0
        for page in PAGES:
            for request, response in HANDSHAKE.findall(page.read_text(encoding="utf-8")):
                found += 1
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(SECONDS)
                    connection.connect(peer.socket_path("http+unix"))
                    connection.sendall(request.replace("\n", "\r\n").encode() + b"\r\n")
                    status, *fields = response.splitlines()
                    head = connection.makefile("rb")
                    self.assertEqual(head.readline().decode().rstrip(), status)
                    actual = http.client.parse_headers(head)
                    for name, value in (field.split(": ") for field in fields):
                        self.assertEqual(actual[name], value)
        self.assertEqual(found, 1)
        self.peer = type(self).peer

    def test_no_message_is_in_another_block(self):
        """A message in another block would be skipped by test_each_block_of_messages."""
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            run = [message for _, _, messages in blocks(page) for message in messages]
            shown = sum(found["text"].count('"jsonrpc"') for found in BLOCK.finditer(text)
                        if found["language"] in ("", "json", "text") and not re.match(r"\$ |curl ", found["text"]))
            with self.subTest(page=page.name):
                self.assertEqual(sum(message.count('"jsonrpc"') for message in run), shown)


if __name__ == "__main__":
    unittest.main()
