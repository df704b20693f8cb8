"""Runs clients that others wrote against the real peer: one line a client, and a closing line of counts.

Each client is a program in this folder for one library. The library is fetched from its registry, at a pinned version,
into a cache outside the tree. A client whose library cannot be fetched is skipped, and its line says why. The program
prints the steps that gave the expected result; the table CLIENTS lists the steps that it must print.

usage: run.py [--list] [CLIENT...]
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.peer import FIXTURES, ROOT, Peer  # noqa: E402

LANG3 = "org.apache.commons:commons-lang3:3.14.0"
FETCH_SECONDS = 180
RUN_SECONDS = 120
# One retry and 10 s, so that a registry that cannot be reached is noticed soon.
PATIENCE = {"PIP_RETRIES": "1", "PIP_TIMEOUT": "10", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "npm_config_fetch_retries": "1", "npm_config_fetch_timeout": "10000"}
ALL = ("call", "member", "error", "notification", "batch")
NO_BATCH = ("call", "member", "error", "notification")
DOCUMENT = ("document", "call", "object", "error")
BATCH_ALONE = ("call", "member", "error", "batch")


@dataclass(frozen=True)
class Client:
    program: str
    scheme: str
    packages: tuple  # their names in the registry; the first is the tested package
    steps: tuple = ALL
    jar: str = None

    @property
    def name(self):
        return re.sub("(==|@)[^@=]+$", "", self.packages[0])

    @property
    def title(self):
        return f"{self.packages[0]}{' with commons-lang3' if self.jar else ''}, {self.scheme}"

    @property
    def in_python(self):
        return self.program.endswith(".py")


CLIENTS = (
    Client("with_jsonrpcclient.py", "http", ("jsonrpcclient==4.0.3",)),
    Client("with_pjrpc.py", "http", ("pjrpc==2.2.0", "requests==2.34.2")),
    Client("with_jsonrpclib_pelix.py", "http", ("jsonrpclib-pelix==1.2.0",), BATCH_ALONE),
    Client("with_jsonrpc_websocket.py", "ws", ("jsonrpc-websocket==4.1.0",), NO_BATCH),
    Client("with_jayson.mjs", "http", ("jayson@5.0.0",)),
    Client("with_json_rpc_2_0.mjs", "http", ("json-rpc-2.0@1.8.1",)),
    Client("with_rpc_websockets.mjs", "ws", ("rpc-websockets@10.0.1",), NO_BATCH),
    Client("with_open_rpc_client_js.mjs", "http", ("@open-rpc/client-js@2.1.0",)),
    Client("with_open_rpc_client_js.mjs", "ws", ("@open-rpc/client-js@2.1.0",)),
    Client("with_a_document.mjs", "ws", ("@open-rpc/client-js@2.1.0",), DOCUMENT, LANG3),
)


class Unavailable(Exception):
    """A package or program that a client needs is not available."""


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()] or ["it printed nothing"]


def fetched(tool, *packages):
    """Fetches packages with the tool; the path that the tool prints."""
    what = " ".join(packages)
    try:
        done = subprocess.run([ROOT / "tools" / tool, *packages], env={**os.environ, **PATIENCE}, timeout=FETCH_SECONDS,
                              capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{what} was not fetched in {FETCH_SECONDS} s") from None
    if done.returncode != 0:
        lines = lines_of(done.stderr)
        # pip, npm and Maven name the cause first, and then what to do about it.
        cause = next((line for line in lines if re.search(r"\berror\b", line, re.I)), lines[-1])
        raise Unavailable(f"{what} could not be fetched: {cause}")
    return done.stdout.strip()


def command_of(client):
    """The command of the client without the peer's address, and its environment."""
    runtime = "/usr/bin/python3" if client.in_python else shutil.which("node")
    if not client.in_python and (runtime is None or shutil.which("npm") is None):
        raise Unavailable("node and npm are not installed")
    folder = fetched("fetch-python", *client.packages) if client.in_python \
        else [fetched("fetch-npm", package) for package in client.packages][0]
    # The folder of the packages precedes Debian's own folder, because Debian's may have other versions.
    return [runtime, HERE / client.program], folder, {**os.environ, "PYTHONPATH": folder} if client.in_python else None


def run_client(client):
    """None, or the reason why the client failed. Raises Unavailable."""
    (runtime, program), folder, environment = command_of(client)
    class_path = FIXTURES if client.jar is None else f"{FIXTURES}:{fetched('fetch-jar', client.jar)}"
    with Peer(class_path=class_path) as peer:
        try:
            done = subprocess.run([runtime, program, peer.address(client.scheme), folder], env=environment,
                                  timeout=RUN_SECONDS, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            return f"did not end in {RUN_SECONDS} s"
    if done.returncode != 0:
        return lines_of(done.stderr)[-1]
    steps = tuple(done.stdout.split())
    return None if steps == client.steps else f"did {steps}, not {client.steps}"


def verdict_of(client):
    """passed, failed or skipped, and the steps or the reason."""
    try:
        wrong = run_client(client)
    except Unavailable as reason:
        return "skipped", str(reason)
    except AssertionError as complaint:
        return "failed", str(complaint)
    return ("passed", ", ".join(client.steps)) if wrong is None else ("failed", wrong)


def main(arguments):
    if arguments == ["--list"]:
        print(*dict.fromkeys(client.name for client in CLIENTS), sep="\n")
        return 0
    unknown = set(arguments) - {client.name for client in CLIENTS}
    if unknown:
        print(f"unknown client: {', '.join(sorted(unknown))} (--list shows them)", file=sys.stderr)
        return 2
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for client in CLIENTS:
        if arguments and client.name not in arguments:
            continue
        verdict, word = verdict_of(client)
        counts[verdict] += 1
        print(f"{verdict:8}{client.title}: {word}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
