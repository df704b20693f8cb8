"""Runs the conformance cases over WebSocket, HTTP, ZeroMQ and shared memory, and as binary messages if they have that
form. Only one suite also runs over Unix sockets, because these change nothing above the connection.

usage: run.py [--transport NAME]... [--suite NAME] [--verbose]

A suite is a folder; each of its *.json files is a case or a list of cases, and each of its *.py files has a function
`cases` that makes cases:

    {"name": "...", "options": ["--compat", "pal"], "steps": [{"request": ..., "reply": ...}, ...]}

The steps of a case share a session. "request" is JSON, or with "raw" the text itself. "reply" is the expected
reply; null: no reply is expected. In a reply, a string that begins with "$" means a kind of value:

    "$any"            anything             "$text"           any string
    "$ref", "$ref:x"  a ref, kept as x     "$frames"         a list of strings
    "$begins:T"       a text that begins   "$contains:T"     a text that contains T
    "$same:x"         the value kept as x  "$any-of:A|B"     the text A, or B
    "$text:x"         any string, kept as x
    "$call:x"         the id of a callback, kept as x

and the member "...": true lets an object have more members than are listed. In a request, "$ref:x" is the value kept as x,
and in a raw text <x>. A step may also be written short, for one of the six methods:

    {"call": "fixtures.Calculator.add", "on": "$ref:x", "args": [...], "gives": {"type": "int", "value": "8"}}

with call, get, put ("value"), new, control or meta; "args" and "value" may be raw text. "gives" is the expected value
object (with "null": false if it has no "null"), or "void". "fails" in its place is the expected error, [code,
data.message, throwable_type]; the last may be left out. A raw request with the id 1 may have "fails" as well. "only"
names the transports of a case; a case for WebSocket is for shared memory, too, unless it "happens": "once" in a peer.
"contains", in addition to "reply" or instead of it, is text that the reply has to contain byte for byte. "times"
repeats a step.

JPEER_LEDGER=1 and JPEER_CHECK_JNI=1 (tests/support/peer.py) run the cases under the reference ledger and -Xcheck:jni.
If one of these complains, the case fails.

If the peer calls the client, "before_reply" lists the messages that the client receives before the reply, in order, and the
answers that it sends:

    "before_reply": [{"receives": {"method": "callback", "id": "$call:c", ...}, "sends": [{"id": "$ref:c", "result": 5}]}]

If further requests are sent while the request of a step runs, "beside" lists them, as steps. Their replies and the
reply to the step may arrive in any order; their ids distinguish them.

binary_form.py describes what the binary form compares, and the steps without such a form; --verbose lists the steps
that were left out.
"""

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from conformance.binary_form import BinaryForm, NotExpressible  # noqa: E402
from support import clients  # noqa: E402
from support.peer import Peer  # noqa: E402

TRANSPORTS = (*clients.TRANSPORTS, BinaryForm, clients.ShmClient, *clients.UNIX_TRANSPORTS)
UNIX_SUITE = "envelope"
HERE = Path(__file__).resolve().parent
VERBS = ("call", "get", "put", "new", "control", "meta")
MESSAGES = {-32700: "Parse error", -32600: "Invalid Request", -32601: "Method not found", -32602: "Invalid params",
            -32603: "Internal error", -32000: "Server error", -32001: "RPC access denied"}
STANDARD = ("--rpc-default-action", "ALLOW")


class Mismatch(Exception):
    """Says where and how a reply differs from the expected reply."""


def fill(request, kept):
    """The request with "$ref:x" replaced by the value kept as x."""
    if isinstance(request, str) and request.startswith("$ref:"):
        return kept[request[5:]]
    if isinstance(request, list):
        return [fill(element, kept) for element in request]
    if isinstance(request, dict):
        return {name: fill(value, kept) for name, value in request.items()}
    return request


def fill_raw(text, kept):
    for name, value in kept.items():
        text = text.replace(f"<{name}>", str(value))
    return text


def is_ref(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def matches_kind(kind, argument, actual, kept):
    if kind == "any":
        return True
    if kind == "text":
        if argument:
            kept[argument] = actual
        return isinstance(actual, str)
    if kind == "frames":
        return isinstance(actual, list) and all(isinstance(frame, str) for frame in actual)
    if kind == "begins":
        return isinstance(actual, str) and actual.startswith(argument)
    if kind == "contains":
        return isinstance(actual, str) and argument in actual
    if kind == "any-of":
        return actual in argument.split("|")
    if kind == "same":
        return actual == kept[argument]
    if kind == "call":
        kept[argument] = actual
        return isinstance(actual, str) and actual.startswith("cb-")
    if kind == "ref":
        if is_ref(actual) and argument:
            kept.setdefault(argument, actual)
        return is_ref(actual) and (not argument or kept[argument] == actual)
    raise ValueError(f"no kind of value is called ${kind}")


def compare(expected, actual, kept, where="reply"):
    if isinstance(expected, str) and expected.startswith("$"):
        kind, _, argument = expected[1:].partition(":")
        if not matches_kind(kind, argument, actual, kept):
            raise Mismatch(f"{where}: {actual!r} is not {expected}")
    elif isinstance(expected, dict):
        compare_objects(expected, actual, kept, where)
    elif isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            raise Mismatch(f"{where}: {actual!r} is not a list of {len(expected)}")
        for index, element in enumerate(expected):
            compare(element, actual[index], kept, f"{where}[{index}]")
    elif type(expected) is not type(actual) or expected != actual:
        raise Mismatch(f"{where}: {actual!r} is not {expected!r}")


def compare_objects(expected, actual, kept, where):
    if not isinstance(actual, dict):
        raise Mismatch(f"{where}: {actual!r} is no object")
    more = "..." in expected
    for name, value in expected.items():
        if name == "...":
            continue
        if name not in actual:
            raise Mismatch(f"{where}: {name} is missing in {actual!r}")
        compare(value, actual[name], kept, f"{where}.{name}")
    surplus = set(actual) - set(expected)
    if surplus and not more:
        raise Mismatch(f"{where}: {sorted(surplus)} too many in {actual!r}")


def expand_request(verb, step, kept):
    """The text of a step that is written short."""
    params = {}
    if verb in ("control", "meta"):
        params["method"] = step[verb]
    elif verb == "new":
        params["type"] = step[verb]
    else:
        params["type"], _, member = step[verb].rpartition(".")
        params["method" if verb == "call" else "field"] = member
    if "on" in step:
        params["instance"] = step["on"]
    members = [f"{json.dumps(name)}:{json.dumps(fill(value, kept))}" for name, value in params.items()]
    for name in ("args", "value", "encoding"):
        if name in step:
            raw = name != "encoding" and isinstance(step[name], str)
            members.append(f'"{name}":' + (fill_raw(step[name], kept) if raw else json.dumps(fill(step[name], kept))))
    return f'{{"jsonrpc":"2.0","id":1,"method":"{verb}","params":{{{",".join(members)}}}}}'


def expand_reply(step):
    if "fails" in step:
        code, message, *throwable = step["fails"]
        data = {"...": True, "message": message, "request_id": 1}
        if throwable:
            data["throwable_type"] = throwable[0]
        return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": MESSAGES[code], "data": data}}
    if step["gives"] == "void":
        return {"jsonrpc": "2.0", "id": 1, "result": {"void": True}}
    return {"jsonrpc": "2.0", "id": 1, "result": {"void": False, "value": {"null": False, **step["gives"]}}}


def expand(step, kept):
    for verb in VERBS:
        if verb in step:
            return {**step, "raw": expand_request(verb, step, kept), "reply": expand_reply(step)}
    return {**step, "reply": expand_reply(step)} if "fails" in step else step


def converse(messages, client, kept):
    """Receives the peer's messages before the reply, and sends the answers."""
    for message in messages:
        compare(message["receives"], json.loads(client.receive()), kept, "before_reply")
        for text in message.get("sends", []):
            client.send(text if isinstance(text, str) else json.dumps(fill(text, kept)))


def ids_of(reply):
    return [one.get("id") for one in reply] if isinstance(reply, list) else reply.get("id")


def exchange_beside(step, text, client, kept):
    """Returns the reply to the step."""
    client.send(text)
    expected = [one["reply"] for one in step["beside"] if one["reply"] is not None]
    for one in step["beside"]:
        client.send(fill_raw(one["raw"], kept) if "raw" in one else json.dumps(fill(one["request"], kept)))
    reply = None
    for _ in range(len(expected) + 1):
        received = client.receive()
        ids = ids_of(json.loads(received))
        found = next((one for one in expected if ids_of(one) == ids), None)
        if found is not None:
            expected.remove(found)
            compare(found, json.loads(received), kept, "beside")
        elif reply is None:
            reply = received
        else:
            raise Mismatch(f"beside: a reply too many: {received}")
    return reply


def exchange(step, text, client, kept):
    if "beside" in step:
        return exchange_beside(step, text, client, kept)
    if "before_reply" not in step:
        return client.exchange(text)
    client.send(text)
    converse(step["before_reply"], client, kept)
    return client.receive()


def run_step(step, client, kept):
    step = expand(step, kept)
    text = fill_raw(step["raw"], kept) if "raw" in step else json.dumps(fill(step["request"], kept))
    expects_nothing = "reply" in step and step["reply"] is None
    reply = client.exchange_or_nothing(text) if expects_nothing else exchange(step, text, client, kept)
    if expects_nothing:
        if reply is not None:
            raise Mismatch(f"an answer to {text}: {reply}")
        return
    if reply is None:
        raise Mismatch(f"no answer to {text}")
    if "contains" in step and step["contains"] not in reply:
        raise Mismatch(f"{step['contains']!r} is not in {reply}")
    if "reply" in step:
        expected = client.expected(step["reply"]) if isinstance(client, BinaryForm) else step["reply"]
        try:
            compare(expected, json.loads(reply), kept)
        except Mismatch as mismatch:
            raise Mismatch(f"{text[:300]}\n      {mismatch}") from None


def run_clean_step(step, client, kept, peer):
    """Runs a step; a sanitizer, -Xcheck:jni or the reference ledger must not complain."""
    failed = None
    try:
        run_step(step, client, kept)
    except NotExpressible:
        raise
    except Exception as error:  # any exception, if the peer has ended
        failed = error
    found = peer.new_complaints()
    if found:
        raise Mismatch("\n      ".join([json.dumps(step)[:300], *found])) from failed
    if failed is not None:
        raise failed


def run_steps(case, client, peer):
    """The reason for each step that was left out."""
    kept, left_out = {}, []
    for number, step in enumerate(case["steps"]):
        try:
            for _ in range(step.get("times", 1)):
                run_clean_step(step, client, kept, peer)
        except NotExpressible as reason:
            left_out.append(str(reason))
            if reason.is_run:
                return left_out + ["a later step"] * (len(case["steps"]) - number - 1)
        except KeyError:
            if not left_out:
                raise
            left_out.append("a step that needs a value of a step left out")
    return left_out


def run_case(case, transport, peer):
    client = transport(peer)
    try:
        left_out = run_steps(case, client, peer)
    except BaseException:
        with contextlib.suppress(Exception):  # the first failure counts
            client.close()
        raise
    client.close()
    return left_out


def read_suite(folder):
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        for case in content if isinstance(content, list) else [content]:
            yield {**case, "suite": folder.name, "name": f"{folder.name}/{path.stem}: {case['name']}"}
    for path in sorted(folder.glob("*.py")):
        made = list(importlib.import_module(f"conformance.{folder.name}.{path.stem}").cases())
        assert made, f"{path} makes no case"
        for case in made:
            yield {**case, "suite": folder.name, "name": f"{folder.name}/{path.stem}: {case['name']}"}


def read_cases(suite):
    cases = []
    for folder in sorted(path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"):
        if suite in (None, folder.name):
            cases += read_suite(folder)
    return cases


def report(case, transport, left_out):
    word = "--  " if len(left_out) == len(case["steps"]) else "ok  "
    print(f"{word} {case['name']} ({transport.name})")
    for why, steps in Counter(left_out).items():
        print(f"      left out: {steps} {'step' if steps == 1 else 'steps'}, {why}")


def is_for(case, transport):
    if transport in clients.UNIX_TRANSPORTS and case["suite"] != UNIX_SUITE:
        return False
    protocol = next((base.name for base in clients.TRANSPORTS if issubclass(transport, base)), transport.name)
    only = case.get("only", [protocol])
    is_shared = transport is clients.ShmClient and "websocket" in only and case.get("happens") != "once"
    return protocol in only or is_shared


def run_on_one_peer(options, cases, transports, verbose, counts):
    with Peer(*options, allow=False, sockets=True, first_ref=None) as peer:
        for case in cases:
            for transport in transports:
                if not is_for(case, transport):
                    continue
                try:
                    left_out = run_case(case, transport, peer)
                    counts["passed"] += len(left_out) < len(case["steps"])
                    counts["left out"] += len(left_out)
                    if verbose:
                        report(case, transport, left_out)
                except (Mismatch, AssertionError, OSError, ValueError, KeyError) as error:
                    counts["failed"] += 1
                    print(f"FAIL {case['name']} ({transport.name})\n      {type(error).__name__}: {error}")
                    if peer.process.poll() is not None:
                        raise


def run_group(options, cases, transports, verbose):
    counts = Counter()
    try:
        run_on_one_peer(options, cases, transports, verbose, counts)
    except Exception as error:  # the peer itself failed: one more failure, and the next group runs
        print(f"FAIL peer {' '.join(options)}: {error}")
        counts["failed"] += 1
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", action="append", choices=[transport.name for transport in TRANSPORTS])
    parser.add_argument("--suite")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    transports = [t for t in TRANSPORTS if arguments.transport is None or t.name in arguments.transport]
    groups = {}
    for case in read_cases(arguments.suite):
        options = tuple(word.replace("HERE", str(HERE)) for word in case.get("options", STANDARD))
        groups.setdefault(options, []).append(case)
    counts = Counter(passed=0, failed=0)
    largest_first = sorted(groups.items(), key=lambda group: -len(group[1]))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for count in pool.map(lambda group: run_group(*group, transports, arguments.verbose), largest_first):
            counts.update(count)
    left_out = f", {counts['left out']} steps have no binary form" if counts["left out"] else ""
    print(f"conformance: {counts['passed']} passed, {counts['failed']} failed{left_out}")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
