"""README's tour, copied and pasted: each command runs, and prints what the comment below it says."""

import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support.peer import BINARY, ROOT, START_SECONDS, environment

PORT = "4711"  # in the text; the test takes a free one


def tour():
    """The shell commands: the one that starts the peer, and the rest as one script."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text[text.index("## A tour"):text.index("## Where to read on")], re.S)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    blocks = [block.replace("build/release/jpeer", str(BINARY)).replace(PORT, port) for block in blocks]
    return blocks[0], "\n".join(blocks[1:])


class Readme(unittest.TestCase):
    def test_the_tour_does_what_it_says(self):
        start, rest = tour()
        told = re.findall(r"^# (.*)", rest, re.M)
        self.assertTrue(told)
        with tempfile.NamedTemporaryFile() as errors:
            peer = subprocess.Popen(["bash", "-c", "exec " + start], stderr=errors, env=environment())
            try:
                self.await_ready(peer, errors)
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", rest], capture_output=True, text=True,
                                      timeout=START_SECONDS, check=True)
            finally:
                peer.send_signal(signal.SIGTERM)
                status = peer.wait(START_SECONDS)
        self.assertEqual(status, 0)
        for line in told:
            for part in filter(None, line.split("...")):
                self.assertIn(part.strip().rstrip(","), done.stdout)

    def await_ready(self, peer, errors):
        deadline = time.monotonic() + START_SECONDS
        said = ""
        while "jpeer ready" not in said:
            self.assertIsNone(peer.poll(), said)
            self.assertLess(time.monotonic(), deadline, said)
            time.sleep(0.01)
            said = Path(errors.name).read_text(encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
