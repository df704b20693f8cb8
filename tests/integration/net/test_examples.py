"""The examples of JSON-RPC 2.0, of the library's manual and of the 1.1 draft, over every transport (examples/*.json).

A case has what is sent ("request": JSON, "raw": text, "get": a target, which HTTP alone has) and the reply as JSON,
null for none. Details that the library adds to an error are no part of an example that has none.
"""

import asyncio
import http.client
import json
import pathlib

import websockets
import zmq

from stub import SECONDS, StubTest

CASES = [{**case, "name": f"{path.stem}: {case['name']}"}
         for path in sorted((pathlib.Path(__file__).parent / "examples").glob("*.json"))
         for case in json.loads(path.read_text(encoding="utf-8"))]
MESSAGES = [case for case in CASES if "get" not in case]
# The draft's headers. Host is the client's: a peer on the loopback address has no other name.
HEADERS = {"User-Agent": "Wget/1.6", "Accept": "application/json"}
# Answers keep the order of the messages: its own ends those of the message before.
FENCE = json.dumps({"jsonrpc": "2.0", "method": "get_data", "id": "fence"})
FENCE_REPLY = {"jsonrpc": "2.0", "result": ["hello", 5], "id": "fence"}


def text_of(case):
    return case["raw"] if "raw" in case else json.dumps(case["request"])


def without_details(actual, expected):
    """The reply without what the library says of its errors, where the example says nothing."""
    if isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        return [without_details(*pair) for pair in zip(actual, expected)]
    if not all(isinstance(reply, dict) and isinstance(reply.get("error"), dict) for reply in (actual, expected)):
        return actual
    details = "error" if "version" in actual else "data"
    kept = {name: value for name, value in actual["error"].items() if name != details or name in expected["error"]}
    return {**actual, "error": kept}


def status_of(case):
    """2.0: 204 where there is no reply, else 200. 1.1: 500 for an error (7.1)."""
    reply = case["reply"]
    if "status" in case:
        return case["status"]
    if reply is None:
        return 204
    return 500 if isinstance(reply, dict) and "version" in reply and "error" in reply else 200


class Examples(StubTest):
    options = {"examples": 1}

    def check(self, case, replies):
        expected = [] if case["reply"] is None else [case["reply"]]
        actual = [without_details(json.loads(reply), case["reply"]) for reply in replies]
        # As text, since Python takes 1, 1.0 and True for the same.
        self.assertEqual(json.dumps(expected, sort_keys=True), json.dumps(actual, sort_keys=True))

    def check_response(self, case, response):
        body = response.read()
        self.assertEqual(status_of(case), response.status, body)
        self.check(case, [body] if body else [])
        if body:
            self.assertEqual("application/json", response.headers["Content-Type"])
            self.assertEqual(str(len(body)), response.headers["Content-Length"])

    def test_http(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.stub.port, timeout=SECONDS)
        self.addCleanup(connection.close)
        for case in CASES:
            with self.subTest(case["name"]):
                if "get" in case:
                    connection.request("GET", case["get"], headers=HEADERS)
                else:
                    connection.request("POST", "/myservice", text_of(case).encode(),
                                       {**HEADERS, "Content-Type": "application/json"})
                self.check_response(case, connection.getresponse())

    def test_websocket(self):
        async def exchange(connection, text):
            await connection.send(text)
            await connection.send(FENCE)
            replies = []
            while json.loads(reply := await asyncio.wait_for(connection.recv(), SECONDS)) != FENCE_REPLY:
                replies.append(reply)
            return replies

        async def exchange_all():
            async with websockets.connect(self.stub.url) as connection:
                for case in MESSAGES:
                    with self.subTest(case["name"]):
                        self.check(case, await exchange(connection, text_of(case)))
        asyncio.run(exchange_all())

    def test_zeromq(self):
        with zmq.Context() as context, context.socket(zmq.DEALER) as client:
            client.setsockopt(zmq.LINGER, 0)
            client.setsockopt(zmq.RCVTIMEO, SECONDS * 1000)
            client.connect(self.stub.zmq_url)
            for case in MESSAGES:
                with self.subTest(case["name"]):
                    client.send_string(text_of(case))
                    client.send_string(FENCE)
                    replies = []
                    while json.loads(reply := client.recv()) != FENCE_REPLY:
                        replies.append(reply)
                    self.check(case, replies)

    def test_there_are_examples(self):
        self.assertEqual({"jsonrpc-1.1", "jsonrpc-2.0", "library"}, {case["name"].split(": ")[0] for case in CASES})
