"""Clients that other projects generate from the peer's documents, compiled and used: for the peer's own methods and for
commons-lang3, in TypeScript and in Python. If a registry is out of reach, its language is skipped, with the reason.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import calls  # noqa: E402
import in_python  # noqa: E402
import in_typescript  # noqa: E402
from support.peer import FIXTURES, ROOT, Peer  # noqa: E402

LANG3 = "org.apache.commons:commons-lang3:3.14.0"
CACHE = ROOT / "build/generators"
METHODS_LEAST = 100


def discover(peer, **params):
    message = {"jsonrpc": "2.0", "id": 1, "method": "rpc.discover", "params": {"names": "identifiers", **params}}
    request = urllib.request.Request(peer.address("http"), json.dumps(message).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["result"]


def clients_of(peer):
    """Yields documents: each with the calls of its client, and for each language whether the client sends params by
    position."""
    own = discover(peer)
    params_of = {method["name"]: [param["name"] for param in method["params"]] for method in own["methods"]}
    of_lang3 = calls.of_lang3()
    assert len({call.method for call in of_lang3}) >= METHODS_LEAST
    return {"the peer's own methods": (own, calls.of_the_peer(params_of), False),
            "commons-lang3": (discover(peer, classes=["org.apache.commons.lang3.*"]), of_lang3, True)}


def check_typescript(tools, document, its_calls, address, folder, _):
    return in_typescript.check(tools, document, its_calls, address, folder)


LANGUAGES = {"TypeScript": (in_typescript.fetch, check_typescript), "Python": (in_python.fetch, in_python.check)}


def check_client(check, tools, client, address):
    document, its_calls, by_position = client
    with tempfile.TemporaryDirectory(prefix="jpeer-generators-") as name:
        folder = Path(name)
        (folder / "document.json").write_text(json.dumps(document), encoding="utf-8")
        return check(tools, folder / "document.json", its_calls, address, folder, by_position)


def check_language(language, peer):
    """Tests the clients of a language. Returns the numbers of passed and failed calls."""
    fetch, check = LANGUAGES[language]
    try:
        tools = fetch(CACHE)
    except (OSError, subprocess.SubprocessError) as reason:
        said = (getattr(reason, "stderr", None) or str(reason)).strip().splitlines()
        print(f"skipped: {language}: {said[0] if said else reason}", flush=True)
        return 0, 0
    passed = failed = 0
    for name, client in clients_of(peer).items():
        try:
            counts = check_client(check, tools, client, peer.address("ws"))
        except AssertionError as complaint:
            print(f"failed: {language}, {name}: {complaint}", flush=True)
            failed += 1
            continue
        print(f"{language}, {name}: {counts['passed']} calls of {len(client[0]['methods'])} methods were right, "
              f"{counts['failed']} did not", flush=True)
        passed += counts["passed"]
        failed += counts["failed"]
    return passed, failed


def main(arguments):
    if shutil.which("npm") is None or shutil.which("node") is None:
        LANGUAGES.pop("TypeScript")
        print("skipped: TypeScript: node and npm are not installed")
    jar = subprocess.run([ROOT / "tools/fetch-jar", LANG3], capture_output=True, text=True, check=False)
    if jar.returncode != 0:
        print(f"skipped: {jar.stderr.strip().splitlines()[-1]}\n0 passed, 0 failed")
        return 0
    passed = failed = 0
    with Peer(class_path=f"{FIXTURES}:{jar.stdout.strip()}") as peer:
        for language in arguments or LANGUAGES:
            more_passed, more_failed = check_language(language, peer)
            passed += more_passed
            failed += more_failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
