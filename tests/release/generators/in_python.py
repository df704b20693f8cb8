"""A client that openrpcclientgenerator generates, and calls of the client."""

import json
import keyword
import re
import shutil
import subprocess
from pathlib import Path

from calls import run_tool

# The generated clients need websockets, which jsonrpc2-pyclient does not declare.
PACKAGES = ("openrpcclientgenerator==0.51.7", "jsonrpc2-pyclient==5.2.3", "websockets==12.0")
PROGRAM = Path(__file__).with_name("python_calls.py")


def fetch(cache):
    """The virtual environment. Raises CalledProcessError if pip cannot reach its registry."""
    folder = cache / "python"
    mark = folder / "packages"
    if not mark.exists() or mark.read_text() != " ".join(PACKAGES):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True, capture_output=True, text=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", *PACKAGES], check=True, capture_output=True, text=True,
                       timeout=300)
        mark.write_text(" ".join(PACKAGES))
    return folder


def without_words(document):
    """The generator does not rename a parameter called `from`, a keyword of Python. Such optional parameters are
    omitted."""
    for method in document["methods"]:
        method["params"] = [param for param in method["params"]
                            if param["required"] or not keyword.iskeyword(param["name"])]
    return document


def send_by_position(client):
    """The generator's clients send params by name, under changed names (`from_index` for `fromIndex`),
    without regard to the document's paramStructure. This switches its library to params by position."""
    source = client.read_text(encoding="utf-8")
    changed = re.sub(r"@rpc_class_method\(\s*method_name=", "@rpc_class_method(by_name=False, method_name=", source)
    assert changed != source
    client.write_text(changed, encoding="utf-8")


def check(environment, document, calls, address, folder, by_position):
    """Runs the calls. Returns the numbers of passed and failed calls."""
    described = without_words(json.loads(document.read_text(encoding="utf-8")))
    (folder / "openrpc.json").write_text(json.dumps(described), encoding="utf-8")  # where the generator expects it
    run_tool([environment / "bin/orpc", "python", address, folder / "out"], folder)
    package = folder / "out/python/jpeer-ws-client"
    if by_position:
        send_by_position(package / "jpeer_ws_client/client.py")
    (folder / "calls.json").write_text(json.dumps([call.__dict__ for call in calls]), encoding="utf-8")
    *complaints, counts = run_tool([environment / "bin/python", "-W", "ignore", PROGRAM, address, package,
                                    folder / "calls.json"], folder).splitlines()
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return json.loads(counts)
