"""Peers and clients of different versions: the list of capabilities, and what a client says of a peer that lacks one.
tests/release/compatibility.py runs the version before this one against this one."""

import json
import re
import sys

from support.clients import HttpClient
from support.peer import ROOT, run_to_end
from support.peer_case import PeerCase

sys.path.append(str(ROOT / "tests/support"))
from hostile_peer import HostilePeer, result, usual, value_of  # noqa: E402

PAGE = ROOT / "docs/compatibility.md"


def session_of(client):
    return json.loads(client.control("session")["value"])


class Capabilities(PeerCase):
    options = ()

    def listed(self):
        """The rows of the page: the names of each."""
        rows = re.findall(r"^\| (`.*?`) \| (?:a member|a method|the method|a service|the connection|`control)", PAGE.read_text(encoding="utf-8"), re.M)
        return [re.findall(r"`([^`]+)`", row) for row in rows]

    def test_the_page_lists_them(self):
        names = session_of(self.client)["capabilities"]
        self.assertEqual(sorted(names), sorted(sum(self.listed(), [])))
        without = session_of(self.connect(HttpClient))["capabilities"]
        self.assertEqual(without, [each for each in names if not each.startswith("callbacks")])
        self.assertEqual(session_of(self.client)["protocol"], 1)

    def refusal(self, method, params, **more):
        answer = json.loads(self.client.exchange(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **more})))
        return answer.get("error", {}).get("data", {}).get("message", "")

    def test_each_is_known_and_nothing_else(self):
        options, control, methods, services, *_ = self.listed()
        call = {"type": "java.lang.Math", "method": "max", "args": [1, 2]}
        for name in [*options, "newer"]:
            self.assertEqual(self.refusal("call", call, options={name: None}).startswith("Unknown option: "), name == "newer", name)
        for name in [*control, "newer"]:
            refused = self.refusal("control", {"method": name, "args": []}).startswith("Invalid control method: ")
            self.assertEqual(refused, name == "newer", name)
        for name in [*methods, "newer"]:
            self.assertEqual(self.refusal(f"jpeer.{name}", {}).startswith("Invalid method: "), name == "newer", name)
        for name in [*services, "newer"]:
            self.assertEqual(self.refusal("meta", {"method": name}).startswith("Invalid meta service: "), name == "newer", name)

    def test_all_that_the_sources_know_are_listed(self):
        """A new option, control method or member of callbacks without a row is found here."""
        options, control, _, _, _, callbacks, *_ = self.listed()
        tables = {"native/rpc/jsonrpc/json_options.c": (r'\{\.name = TEXT\("(\w+)"\)', options, "{}"),
                  "native/op/control_methods.h": (r'ROW\(\w+, "(\w+)",.*\.is_addition', control, "{}"),
                  "native/rpc/values/callback_read.c": (r'\[CALLBACK_(?!INTERFACES)\w+\] = TEXT\("(\w+)"\)', callbacks, "callbacks.{}")}
        for file, (pattern, names, form) in tables.items():
            with self.subTest(file=file):
                found = re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"))
                self.assertEqual(sorted(form.format(each) for each in found), sorted(names))


class OlderPeers(PeerCase):
    def command(self, refusal, code, version="0.8.1"):
        def reply(request):
            if (request.get("params") or {}).get("method") == "session" and version:
                return result(request, value_of("java.lang.String", json.dumps({"epoch": "42fdda62c61b08da", "client": 1, "version": version})))
            if request["method"] == "control":
                return usual(request)
            return {"jsonrpc": "2.0", "id": request["id"],
                    "error": {"code": code, "message": "Invalid", "data": {"message": refusal, "stack_trace": [], "cause": None}}}

        with HostilePeer(lambda asked, _: [reply(each) for each in asked] if isinstance(asked, list) else reply(asked)) as peer:
            return run_to_end("call", "-u", peer.url, "java.lang.Math.max(3, 5)").stderr

    def test_the_command_line_names_what_the_peer_lacks(self):
        self.assertIn("the peer 0.8.1 has no types; upgrade it", self.command("Unknown option: types", -32602))
        self.assertIn("the peer has no types; upgrade it, or run it without --compat pal\n",
                      self.command("Unknown option: types", -32602, version=None))
        self.assertIn("Unknown option: newer", self.command("Unknown option: newer", -32602))
