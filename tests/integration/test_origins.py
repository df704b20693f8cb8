"""Requests of web pages of other origins are refused, except origins of --allow-origin. Tested with curl and
a WebSocket client."""

import asyncio
import json
import subprocess

import websockets

from support.peer import START_SECONDS, environment, run_to_end
from support.peer_case import PeerCase

APP = "https://app.test"
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call",
                   "params": {"type": "java.lang.Math", "method": "max", "args": [3, 5]}})
NEW = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "new", "params": {"type": "java.util.ArrayList"}})
PREFLIGHT = ("--request", "OPTIONS", "--header", "Access-Control-Request-Method: POST",
             "--header", "Access-Control-Request-Headers: content-type,peer-id")


def curl(url, *arguments, origin=None, body=None):
    """Runs curl. Returns (status, fields with names in lower case, body)."""
    command = ["curl", "--silent", "--show-error", "--max-time", "60", "--include", *arguments]
    if origin is not None:
        command += ["--header", f"Origin: {origin}"]
    if body is not None:
        command += ["--header", "Content-Type: application/json", "--data", body]
    done = subprocess.run([*command, url], check=True, capture_output=True, text=True, timeout=START_SECONDS)
    head, _, content = done.stdout.partition("\n\n")
    lines = head.splitlines()
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields, content


async def call_over_websocket(url, **headers):
    async with websockets.connect(url, extra_headers=headers) as socket:
        await socket.send(CALL)
        return json.loads(await socket.recv())


def handshake(url, **headers):
    """Opens a WebSocket and calls. Returns the answer, or the status if the handshake is refused."""
    try:
        return asyncio.run(call_over_websocket(url, **headers))["result"]["value"]["value"]
    except websockets.InvalidStatusCode as refusal:
        return refusal.status_code


class Allowed(PeerCase):
    options = ("--allow-origin", "https://App.test:443,http://localhost:3000")

    def setUp(self):
        super().setUp()
        self.url = self.peer.address("http")

    def check_seen(self, fields, origin):
        self.assertEqual((origin, "peer-id, jpeer-epoch", "origin"),
                         tuple(fields.get(name) for name in ("access-control-allow-origin",
                                                             "access-control-expose-headers", "vary")))
        self.assertNotIn("access-control-allow-credentials", fields)

    def test_a_preflight_names_what_is_allowed(self):
        status, fields, _ = curl(self.url, *PREFLIGHT, origin=APP)
        self.assertEqual((204, "post, options"), (status, fields["access-control-allow-methods"]))
        self.check_seen(fields, APP)
        self.assertLessEqual({"content-type", "peer-id", "jpeer-epoch"}, set(fields["access-control-allow-headers"].split(", ")))
        self.assertEqual("600", fields["access-control-max-age"])
        self.assertNotIn("access-control-allow-private-network", fields)
        private = ("--header", "Access-Control-Request-Private-Network: true")
        self.assertEqual("true", curl(self.url, *PREFLIGHT, *private,
                                      origin=APP)[1]["access-control-allow-private-network"])
        _, fields, _ = curl(self.url + "/get", *PREFLIGHT, origin=APP)
        self.assertEqual("get, head, options", fields["access-control-allow-methods"])

    def test_calls(self):
        for origin in (APP, "http://localhost:3000"):
            for _ in range(2):  # the second time the peer recognises the head
                status, fields, body = curl(self.url, origin=origin, body=CALL)
                self.assertEqual((200, "5"), (status, json.loads(body)["result"]["value"]["value"]))
                self.check_seen(fields, origin)
        status, fields, _ = curl(self.url + "/get?type=java.lang.Integer&field=MAX_VALUE",
                                 "--header", "Sec-Fetch-Site: cross-site", origin=APP)
        self.assertEqual(200, status)
        self.check_seen(fields, APP)
        _, fields, _ = curl(self.url, origin=APP, body=NEW)
        self.assertIn("peer-id", fields)
        self.check_seen(fields, APP)

    def test_errors_can_be_read(self):
        for status, path, body in ((404, "/no/where", None), (405, "/rpc", None), (400, "/rpc/", None)):
            answer, fields, _ = curl(self.url.removesuffix("/rpc") + path, origin=APP, body=body)
            self.assertEqual(status, answer)
            self.check_seen(fields, APP)

    def test_one_connection_with_a_page_and_a_program(self):
        """A request must not get an answer that only the origin of the previous request may get."""
        done = subprocess.run(["curl", "--silent", "--include", "--data", CALL, "--header",
                               "Content-Type: application/json", "--header", f"Origin: {APP}", self.url, "--next",
                               "--silent", "--include", "--data", CALL, "--header", "Content-Type: application/json",
                               self.url], check=True, capture_output=True, text=True, timeout=START_SECONDS)
        self.assertEqual(2, done.stdout.count("HTTP/1.1 200"))
        self.assertEqual(1, done.stdout.count("Access-Control-Allow-Origin"))

    def test_other_origins_are_refused(self):
        for origin in ("http://app.test", "https://app.test:8443", "https://app.test.evil.test", "null", "*",
                       "http://localhost:30000"):
            for arguments, body in ((PREFLIGHT, None), ((), CALL)):
                status, fields, _ = curl(self.url, *arguments, origin=origin, body=body)
                self.assertEqual(403, status)
                self.assertEqual([], [name for name in fields if name.startswith("access-control")])

    def test_the_host_is_checked_all_the_same(self):
        """DNS rebinding: the page's own name resolves to the peer's address."""
        for host in ("app.test", "evil.test"):
            self.assertEqual(403, curl(self.url, "--header", f"Host: {host}", origin=APP, body=CALL)[0])

    def test_the_session_is_named_by_a_header(self):
        name = "peer-id=6d4ad9f6-4c5a-4a38-9a0c-1f6cf9f4e1b2"
        self.assertEqual(400, handshake(f"{self.peer.address('ws')}?{name}"))
        status, _, text = curl(f"{self.url}?{name}", body=CALL)
        self.assertEqual((400, True), (status, "header peer-id" in text))

    def test_websocket(self):
        url = self.peer.address("ws")
        self.assertEqual("5", handshake(url, Origin=APP))
        self.assertEqual("5", handshake(url, Origin="http://localhost:3000"))
        self.assertEqual(403, handshake(url, Origin="https://evil.test"))
        self.assertEqual(403, handshake(url, Origin="null"))
        self.assertEqual("5", handshake(url))


class Without(PeerCase):
    def test_an_origin_in_the_log_cannot_pass_for_another_text(self):
        peer = self.start()
        self.assertEqual(403, handshake(peer.address("ws"), Origin='http://a" was served to "b'))
        peer.await_stderr(r'a web page of "http://a\" was served to \"b" was refused')

    def test_no_page_is_let_in(self):
        peer = self.start()
        for arguments, body in ((PREFLIGHT, None), ((), CALL)):
            status, _, text = curl(peer.address("http"), *arguments, origin=APP, body=body)
            self.assertEqual(403, status)
            self.assertIn("--allow-origin", text)
        peer.await_stderr(f'a web page of "{APP}" was refused: --allow-origin names')
        self.assertEqual(403, handshake(peer.address("ws"), Origin=APP))
        status, fields, _ = curl(peer.address("http"), body=CALL)
        self.assertEqual(200, status)
        self.assertFalse({"vary", "access-control-allow-origin"} & set(fields))

    def test_the_variable_does_the_same(self):
        peer = self.start(env=environment(JPEER_ALLOW_ORIGIN=APP))
        self.assertEqual(APP, curl(peer.address("http"), origin=APP, body=CALL)[1]["access-control-allow-origin"])

    def test_an_invalid_origin_is_a_usage_error(self):
        for origins in ("*", "null", "app.test", "https://app.test/", "https://*.app.test", f"{APP},*", f"{APP},"):
            with self.subTest(origins):
                done = run_to_end("run", "--allow-origin", origins, "--as-service")
                self.assertEqual(2, done.returncode)
                self.assertRegex(done.stderr, r"^jpeer run: --allow-origin takes origins .*\n$")
