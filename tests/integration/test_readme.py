"""README's tour, copied and pasted: each command runs, and prints the output that the comment below it shows."""

import re
import socket
import subprocess
import unittest

from support.peer import BINARY, ROOT, START_SECONDS, environment

PORT = "4711"  # the port in the text; the test uses a free port


def tour():
    """Returns the port, the shell command that starts the peer, and the commands after it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text[text.index("## A tour"):text.index("## Your own program")], re.S)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    blocks = [block.replace("build/release/jpeer", str(BINARY)).replace(PORT, port) for block in blocks]
    return port, blocks[0], "\n".join(blocks[1:])


class Readme(unittest.TestCase):
    def test_the_tour_does_what_it_says(self):
        port, start, rest = tour()
        # A reader would paste the next command when the peer is ready. `wait` returns the peer's exit status.
        await_ready = f"until curl -s -o /dev/null http://127.0.0.1:{port}/; do kill -0 %1; sleep 0.05; done"
        script = "\n".join((start, await_ready, rest, "wait %1"))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True,
                              timeout=START_SECONDS, env=environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        printed = re.findall(r"^# (.*)", start + rest, re.M)
        self.assertGreater(len(printed), 3)
        for line in printed:
            for part in filter(None, line.split("...")):
                self.assertIn(part.strip().rstrip(","), done.stdout + done.stderr)
