"""Shows the program demo/h2.py at work, and then its messages.

usage: PYTHONPATH=build/release/python show.py [--wire] H2_JAR

The program runs twice: once as it is, each statement printed before it runs; then over a WebSocket with a relay that
keeps the messages. Messages are shown up to the first answer with an object; with --wire, all messages.
"""

import ast
import contextlib
import os
import socket
import sys
import tempfile
import threading
from pathlib import Path

import jpeer

PROGRAM = Path(__file__).with_name("h2.py")
SHOWN = 200  # characters of a message


def run_shown(source):
    """Prints and runs one statement after the other, as an interactive Python does."""
    lines, printed, names = source.splitlines(), 0, {"__name__": "__main__"}
    for statement in ast.parse(source).body:
        for number, line in enumerate(lines[printed:statement.end_lineno], printed + 1):
            is_code = line and not line.startswith("#")
            print((">>> " if number == statement.lineno else "... ") + line if is_code else line, flush=True)
        printed = statement.end_lineno
        exec(compile(ast.Module([statement], []), PROGRAM, "exec"), names)


class Relay:
    """A Unix socket at `path` that forwards WebSockets to a peer's Unix socket. Text messages are added to
    `messages`, each with an arrow, before they are passed on."""

    def __init__(self, path, peer, messages):
        self.peer, self.messages = peer, messages
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, peer = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            peer.connect(self.peer)
            for way in (("-->", client, peer), ("<--", peer, client)):
                threading.Thread(target=self.pass_on, args=way, daemon=True).start()

    def pass_on(self, arrow, source, target):
        stream, message = source.makefile("rb"), b""
        with contextlib.suppress(OSError):  # one side has gone
            while (line := stream.readline()).strip():  # the head of the HTTP request or answer
                target.sendall(line)
            target.sendall(line)
            while head := stream.read(2):  # a frame (RFC 6455, 5.2)
                length, more = head[1] & 127, b""
                if length > 125:
                    more = stream.read(2 if length == 126 else 8)
                    length = int.from_bytes(more, "big")
                mask = stream.read(4) if head[1] & 128 else b""
                payload = stream.read(length)
                if head[0] & 15 < 2:  # text, or its continuation
                    message += bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)) if mask else payload
                    if head[0] & 128:  # its last frame
                        self.messages.append((arrow, message.decode()))
                        message = b""
                target.sendall(head + more + mask + payload)
            target.shutdown(socket.SHUT_WR)


def run_relayed(source):
    """Runs the program without its output, its connections through a relay. The messages."""
    launch, messages = jpeer.launch, []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as peers:

        def launch_behind_relay(*arguments, **options):
            java = peers.enter_context(launch(*arguments, **options))
            path = os.path.join(folder, "socket")
            Relay(path, java.url.removeprefix("ws+unix:"), messages)
            return jpeer.connect(f"ws+unix:{path}")

        jpeer.launch = launch_behind_relay
        try:
            with contextlib.redirect_stdout(None):
                exec(compile(source, PROGRAM, "exec"), {"__name__": "__main__"})
        finally:
            jpeer.launch = launch
    return messages


def main():
    *options, jar = sys.argv[1:]
    sys.argv = [str(PROGRAM), jar]
    sys.stdout.reconfigure(errors="backslashreplace")  # where the terminal has no room for a planet
    source = PROGRAM.read_text(encoding="utf-8")
    run_shown(source)
    messages = run_relayed(source)
    if "--wire" in options:
        most, says = len(messages), "all messages"
    else:
        most = 1 + next(place for place, (arrow, message) in enumerate(messages) if '"ref":' in message)
        says = f"the first {most} of {len(messages)} messages (tools/demo --wire: all)"
    print(f"\nThe same program over a WebSocket, {says}:\n")
    for arrow, message in messages[:most]:
        print(arrow, message if len(message) <= SHOWN else f"{message[:SHOWN]}... ({len(message)} characters)")


if __name__ == "__main__":
    main()
