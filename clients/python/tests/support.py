"""What the tests share: a peer for a module, and one that is killed and started again at the same address."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import jpeer
from jpeer.connection import find_program

ROOT = Path(__file__).resolve().parents[3]
# Not for the peers that the tests launch, which warn of variables that name no option.
FIXTURES = ROOT / os.environ.pop("JPEER_BUILD", "build/release") / "java-fixtures" / "fixtures.jar"

SECONDS = 60


def launch(**options):
    options.setdefault("timeout", SECONDS)
    return jpeer.launch(**options)


class RestartedPeer:
    """A peer that others connect to, and where refs begin at 1, so that another one uses the same numbers again."""

    def __init__(self, *options):
        self._folder = tempfile.TemporaryDirectory(prefix="jpeer-test-")
        self._options = options
        self._process = None
        self.start()

    def start(self):
        folder = self._folder.name
        ready = Path(folder, "ready.json")
        ready.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [find_program(), "run", "--ready-file", ready, "--json-rpc", f"unix:{folder}/json", "--zmq-rpc",
             f"ipc://{folder}/zmq", "--rpc-default-action", "ALLOW", "--first-ref", "1", "--log-level", "warn",
             *self._options, "--as-service"],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + SECONDS
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the peer has not started")
            time.sleep(0.005)
        self._addresses = json.loads(ready.read_text())["addresses"]

    def url(self, scheme):
        """Of ws+unix, http+unix, shm or ipc."""
        if scheme == "shm":
            return self.url("ws+unix").replace("ws+unix:", "shm:", 1)
        return next(each for each in self._addresses if each.startswith(f"{scheme}:"))

    def kill(self):
        self._process.kill()
        self._process.wait()

    def restart(self):
        self.kill()
        self.start()

    def close(self):
        self.kill()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
