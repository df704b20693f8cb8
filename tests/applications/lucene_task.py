"""Indexes 1,000 documents with Lucene and asks for the ten best, in raw JSON-RPC: once a request at a time, once in
batches whose requests name each other's results, and once by a program in C with chains, which starts its own peer. All
have to find the same, and none may leave an object behind. Prints the round trips and the lines of each way. Skipped, with the reason, where Maven cannot fetch Lucene.
"""

import inspect
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import maven  # noqa: E402
from support.clients import WebSocketClient  # noqa: E402
from support.peer import BINARY, BUILD, Peer, environment  # noqa: E402

DOCUMENTS = [f"document {number} about {'lucene ' * (number % 13)}and {'java ' * (number % 7)}" for number in range(1000)]
DOCUMENTS_A_BATCH = 200
INDEX, SEARCH, DOCUMENT = "org.apache.lucene.index.", "org.apache.lucene.search.", "org.apache.lucene.document."
PARSER = "org.apache.lucene.queryparser.classic.QueryParser"
ANALYZER = "org.apache.lucene.analysis.standard.StandardAnalyzer"


class Wire:
    """Sends what it is given and counts the round trips."""

    def __init__(self, client):
        self.client = client
        self.round_trips = 0

    def exchange(self, message):
        self.round_trips += 1
        return json.loads(self.client.exchange(json.dumps(message)))


def request(number, method, type_name, member=None, args=(), **more):
    params = {"type": type_name, "args": list(args), **more}
    if member is not None:
        params["method"] = member
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def text(words):
    return {"type": "java.lang.String", "value": words}


# ---- a request at a time ----

def one_by_one(wire):
    held = []

    def ask(method, type_name, member=None, *args, on=None):
        more = {} if on is None else {"instance": on}
        answer = wire.exchange(request(1, method, type_name, member, args, **more))
        value = answer["result"].get("value", {})
        if "ref" in value:
            held.append({"ref": value["ref"]})
            return value["ref"]
        return value.get("value")

    def field(type_name, name, on):
        return wire.exchange({"jsonrpc": "2.0", "id": 1, "method": "get", "params": {
            "type": type_name, "field": name, "instance": on}})["result"]["value"]

    directory = ask("new", "org.apache.lucene.store.ByteBuffersDirectory")
    analyzer = ask("new", ANALYZER)
    config = ask("new", INDEX + "IndexWriterConfig", None, {"ref": analyzer})
    writer = ask("new", INDEX + "IndexWriter", None, {"ref": directory}, {"ref": config})
    for words in DOCUMENTS:
        document = ask("new", DOCUMENT + "Document")
        body = ask("new", DOCUMENT + "TextField", None, text("body"), text(words),
                   {"type": DOCUMENT + "Field$Store", "value": "YES"})
        ask("call", DOCUMENT + "Document", "add", {"ref": body}, on=document)
        ask("call", INDEX + "IndexWriter", "addDocument", {"ref": document}, on=writer)
    reader = ask("call", INDEX + "DirectoryReader", "open", {"ref": writer})
    searcher = ask("new", SEARCH + "IndexSearcher", None, {"ref": reader})
    parser = ask("new", PARSER, None, text("body"), {"ref": analyzer})
    query = ask("call", PARSER, "parse", text("lucene AND java"), on=parser)
    best = ask("call", SEARCH + "IndexSearcher", "search", {"ref": query}, 10, on=searcher)
    hits = field(SEARCH + "TopDocs", "scoreDocs", best)["ref"]
    held.append({"ref": hits})
    stored = ask("call", SEARCH + "IndexSearcher", "storedFields", on=searcher)
    found = []
    for place in range(10):
        hit = ask("call", "java.lang.reflect.Array", "get", {"ref": hits}, place)
        number = int(field(SEARCH + "ScoreDoc", "doc", hit)["value"])
        document = ask("call", INDEX + "StoredFields", "document", number, on=stored)
        found.append(ask("call", DOCUMENT + "Document", "get", text("body"), on=document))
    wire.exchange({"jsonrpc": "2.0", "id": 1, "method": "control", "params": {"method": "delete_object", "args": [
        {"ref": ref} for ref in dict.fromkeys(each["ref"] for each in held)]}})
    return found


# ---- in batches ----

def in_batches(wire):
    batch = []

    def add(method, type_name, member=None, *args, keep=False, **more):
        batch.append({**request(len(batch), method, type_name, member, args, **more), "options": {"keep": keep}})
        return {"result": len(batch) - 1}

    def send():
        answers = wire.exchange(batch)
        batch.clear()
        return [answer["result"].get("value", {}) for answer in answers]

    directory = add("new", "org.apache.lucene.store.ByteBuffersDirectory")
    analyzer = add("new", ANALYZER, keep=True)
    config = add("new", INDEX + "IndexWriterConfig", None, {"ref": analyzer})
    writer = add("new", INDEX + "IndexWriter", None, {"ref": directory}, {"ref": config}, keep=True)
    answers = send()
    analyzer, writer = answers[analyzer["result"]]["ref"], answers[writer["result"]]["ref"]
    for begin in range(0, len(DOCUMENTS), DOCUMENTS_A_BATCH):
        for words in DOCUMENTS[begin:begin + DOCUMENTS_A_BATCH]:
            document = add("new", DOCUMENT + "Document")
            body = add("new", DOCUMENT + "TextField", None, text("body"), text(words),
                       {"type": DOCUMENT + "Field$Store", "value": "YES"})
            add("call", DOCUMENT + "Document", "add", {"ref": body}, instance=document)
            add("call", INDEX + "IndexWriter", "addDocument", {"ref": document}, instance=writer)
        send()
    reader = add("call", INDEX + "DirectoryReader", "open", {"ref": writer})
    searcher = add("new", SEARCH + "IndexSearcher", None, {"ref": reader})
    parser = add("new", PARSER, None, text("body"), {"ref": analyzer})
    query = add("call", PARSER, "parse", text("lucene AND java"), instance=parser)
    best = add("call", SEARCH + "IndexSearcher", "search", {"ref": query}, 10, instance=searcher)
    hits = add("get", SEARCH + "TopDocs", field="scoreDocs", instance=best)
    stored = add("call", SEARCH + "IndexSearcher", "storedFields", instance=searcher)
    found = []
    for place in range(10):
        hit = add("call", "java.lang.reflect.Array", "get", {"ref": hits}, place)
        number = add("get", SEARCH + "ScoreDoc", field="doc", instance=hit)
        document = add("call", INDEX + "StoredFields", "document", {"ref": number}, instance=stored)
        found.append(add("call", DOCUMENT + "Document", "get", text("body"), instance=document, keep=True)["result"])
    batch.append({"jsonrpc": "2.0", "id": len(batch), "method": "control", "params": {
        "method": "delete_object", "args": [{"ref": analyzer}, {"ref": writer}]}})
    answers = send()
    return [answers[place]["value"] for place in found]


# ----

def run_task(task, class_path):
    with Peer(class_path=class_path) as peer, WebSocketClient(peer) as client:
        wire = Wire(client)
        began = time.monotonic()
        found = task(wire)
        seconds = time.monotonic() - began
        lines = len(inspect.getsource(task).splitlines())
        print(f"{task.__name__}: {wire.round_trips} round trips, {seconds:.2f} s, {lines} lines")
        # A ref that is given next follows those of all objects that were held; none of them is there any more.
        last = client.new("java.lang.Object")
        held = [ref for ref in range(1, last) if "result" in client.request("call", {
            "type": "java.util.Objects", "method": "isNull", "args": [{"ref": ref}]})]
        assert not held, f"{task.__name__} left {len(held)} objects behind"
        return found, wire.round_trips


def run_in_c(class_path):
    """The program prints what it found and, at the end, how many objects its session still holds."""
    began = time.monotonic()
    done = subprocess.run([BUILD / "tests/applications/client_lucene", BINARY, class_path], env=environment(),
                          capture_output=True, text=True, timeout=120, check=False)
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    *found, held = done.stdout.splitlines()
    assert held == "0 objects are left", held
    lines = len((HERE / "lucene.c").read_text(encoding="utf-8").splitlines())
    print(f"lucene.c: {seconds:.2f} s, the start of its peer included, {lines} lines")
    return found


def main():
    try:
        folder = maven.build(HERE / "lucene", "lucene", "package")
    except maven.Unavailable as why:
        print(f"skipped: {why}\n0 passed, 0 failed")
        return 0
    class_path = str(folder / "target/jars/*")
    slow, slow_trips = run_task(one_by_one, class_path)
    quick, quick_trips = run_task(in_batches, class_path)
    assert slow == quick and len(quick) == 10, (slow, quick)
    assert quick_trips * 100 < slow_trips, (quick_trips, slow_trips)
    in_c = run_in_c(class_path)
    assert in_c == quick, (in_c, quick)
    print("lucene: 3 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
