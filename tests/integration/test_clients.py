"""Clients that others wrote: curl, jsonrpcclient and pyzmq's REQ."""

import json
import subprocess
import sys
import unittest
import urllib.request

from support.clients import ZmqReqClient
from support.peer import ROOT, Peer
from support.peer_case import PeerCase

ADD = {"type": "fixtures.Calculator", "method": "add", "args": [5, 3]}


class Clients(PeerCase):
    options = ()

    def curl(self, *arguments):
        done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60", *arguments], check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout

    def test_curl(self):
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": ADD})
        reply = self.curl("--header", "Content-Type: application/json", "--data", request, self.peer.address("http"))
        self.assertEqual(json.loads(reply)["result"]["value"]["value"], "8")

    def test_curl_with_a_body_that_it_asks_to_send(self):
        """A long body makes curl wait for 100 Continue; chunked is the other way."""
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
            "type": "fixtures.Arguments", "method": "lengthOf", "args": ["x" * 2_000_000]}})
        for header in ("Expect: 100-continue", "Transfer-Encoding: chunked"):
            done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60", "--header", header, "--header",
                                   "Content-Type: application/json", "--data-binary", "@-", self.peer.address("http")],
                                  input=request, check=True, stdout=subprocess.PIPE, text=True)
            self.assertEqual(json.loads(done.stdout)["result"]["value"]["value"], "2000000")

    def test_curl_notification(self):
        request = json.dumps({"jsonrpc": "2.0", "method": "control", "params": {"method": "ping"}})
        status = self.curl("--header", "Content-Type: application/json", "--data", request, "--write-out", "%{http_code}",
                           self.peer.address("http"))
        self.assertEqual(status, "204")

    def test_urllib(self):
        request = urllib.request.Request(self.peer.address("http"), method="POST",
                                         headers={"Content-Type": "application/json"},
                                         data=json.dumps({"jsonrpc": "2.0", "id": "a", "method": "call",
                                                          "params": ADD}).encode())
        with urllib.request.urlopen(request, timeout=60) as response:
            self.assertEqual(json.load(response)["result"]["value"]["value"], "8")

    def test_jsonrpcclient(self):
        folder = subprocess.run([ROOT / "tools/fetch-python", "jsonrpcclient==4.0.3"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        sys.path.append(folder)
        from jsonrpcclient import Error, Ok, parse_json, request_json
        body = request_json("call", params=ADD)
        sent = urllib.request.Request(self.peer.address("http"), data=body.encode(), method="POST",
                                      headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(sent, timeout=60) as response:
            parsed = parse_json(response.read().decode())
        self.assertIsInstance(parsed, Ok)
        self.assertEqual(parsed.result["value"]["value"], "8")
        with ZmqReqClient(self.peer) as client:
            parsed = parse_json(client.exchange(request_json("bogus")))
        self.assertIsInstance(parsed, Error)
        self.assertEqual(parsed.code, -32600)

    def test_zeromq_req(self):
        with ZmqReqClient(self.peer) as client:
            self.assertEqual(client.call("fixtures.Calculator", "add", 5, 3), "8")
            self.assertIsNone(client.exchange_or_nothing(
                '{"jsonrpc":"2.0","method":"control","params":{"method":"ping"}}'))
            self.assertEqual(client.call("fixtures.Calculator", "add", 5, 4), "9")


if __name__ == "__main__":
    unittest.main()
