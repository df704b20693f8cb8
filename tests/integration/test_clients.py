"""Clients that others wrote: curl, jsonrpcclient and pyzmq's REQ."""

import json
import subprocess

from support.clients import ZmqReqClient
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

    def test_zeromq_req(self):
        client = self.connect(ZmqReqClient)
        self.assertEqual(client.call("fixtures.Calculator", "add", 5, 3), "8")
        self.assertIsNone(client.exchange_or_nothing('{"jsonrpc":"2.0","method":"control","params":{"method":"ping"}}'))
        self.assertEqual(client.call("fixtures.Calculator", "add", 5, 4), "9")
