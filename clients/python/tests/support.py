"""Shared parts of the tests: a peer for a module, and a peer that is killed and started again at the same address."""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jpeer
import jpeer.aio
from jpeer.connection import find_program

ROOT = Path(__file__).resolve().parents[3]
# Removed from the environment: a launched peer warns of unknown JPEER_ variables.
FIXTURES = ROOT / os.environ.pop("JPEER_BUILD", "build/release") / "java-fixtures" / "fixtures.jar"

SECONDS = 60


def launch(**options):
    options.setdefault("timeout", SECONDS)
    return jpeer.launch(**options)


def module_peer(names, name="java", **options):
    """Makes setUpModule and tearDownModule of a module whose tests share a peer. The peer is a global variable of
    the module with this name."""

    def set_up():
        names[name] = launch(**options)

    return set_up, lambda: names[name].close()


def await_true(condition, what="what the test waits for"):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"not within {SECONDS} s: {what}"
        time.sleep(0.01)


def run_threads(function, each):
    """Calls the function with each of the arguments, on threads of their own at the same time. Returns the results."""
    together = threading.Barrier(len(each))  # keeps a thread that is done from running a second call

    def run(argument):
        together.wait(SECONDS)
        return function(argument)

    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(run, each, timeout=SECONDS))


class AioCase(unittest.IsolatedAsyncioTestCase):
    """Opens a jpeer.aio connection to the module's peer for each test."""

    async def asyncSetUp(self):
        self.java = await jpeer.aio.connect(jpeer.default().url)

    async def asyncTearDown(self):
        await self.java.close()


class RestartedPeer:
    """A peer at a fixed address. Its refs begin at 1, so that a restarted peer uses the same numbers
    again."""

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
        )
        end = time.monotonic() + SECONDS
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the peer has not started")
            time.sleep(0.005)
        self._addresses = json.loads(ready.read_text())["addresses"]

    def url(self, scheme):
        """The address for ws+unix, http+unix, shm or ipc."""
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
