"""Opens a page in Chromium that calls a peer in every way that a page can. A page of an origin in --allow-origin must
receive the answers. Pages of other origins, or pages if the option is not set, must receive no answer and
have no effect. The same with a token, as Authorization and as subprotocol, over TLS: other origins do not get in with the
right token either. Installs Chromium if it is missing. If Chromium cannot be installed, the run is skipped, with
the reason.
"""

import base64
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode, urlsplit

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import certificates  # noqa: E402
from support.clients import HttpClient  # noqa: E402
from support.peer import ROOT, Peer  # noqa: E402

PAGE_SECONDS = 60
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")

# The results of the steps of browser.html.
SEEN = {"post": "5", "notification": 204, "other_types": ["5", "5"], "get": "2147483647", "get_of_member": 200,
        "head": [200, True, ""], "stream": "java.util.BitSet", "session": "0", "errors": [405, 400, 404, 500, 405],
        "fields_not_granted": "refused", "methods_not_granted": "refused", "credentials": "refused", "websocket": "5",
        "unseen": ["opaque", "opaque"]}
REFUSED = {name: "refused" for name in SEEN} | {"unseen": ["opaque", "opaque"]}
TOKEN = "jp_" + "b" * 43
PRINCIPALS = 'principals: [{name: page, tokens: ["sha256:%s"], allow: [java.lang.Math]}]\n' % hashlib.sha256(TOKEN.encode()).hexdigest()
SEEN_WITH_TOKEN = {"post": "5", "post_without": 401, "post_wrong": 401, "websocket": "5 by jpeer", "websocket_without": "refused",
                   "websocket_wrong": "refused", "websocket_token_alone": "refused"}
REFUSED_WITH_TOKEN = dict.fromkeys(SEEN_WITH_TOKEN, "refused")
# The same as rows of docs/security.md (tests/integration/test_real_clients.py).
STEPS = {"post": "`fetch` with the token", "post_without": "`fetch` without token", "post_wrong": "`fetch` with a wrong token",
         "websocket": "WebSocket, subprotocols jpeer and the token", "websocket_without": "WebSocket, subprotocol jpeer",
         "websocket_wrong": "WebSocket, subprotocols jpeer and a wrong token",
         "websocket_token_alone": "WebSocket, subprotocol of the token alone"}


class Unavailable(Exception):
    """A dependency is not available here."""


class Site(BaseHTTPRequestHandler):
    """Serves the page, below /sandboxed as a page of the origin null, and receives its reports."""

    def do_GET(self):
        path = urlsplit(self.path).path
        self.send_response(200 if path in ("/", "/sandboxed") else 404)
        self.send_header("Content-Type", "text/html")
        if path == "/sandboxed":
            self.send_header("Content-Security-Policy", "sandbox allow-scripts")
        self.end_headers()
        if path in ("/", "/sandboxed"):
            self.wfile.write((HERE / "browser.html").read_bytes())

    def do_POST(self):
        self.server.reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def find_chromium():
    if shutil.which("chromium") is None:
        done = subprocess.run([ROOT / "tools/install-packages", "chromium"], stdout=sys.stdout, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["apt said nothing"]
            cause = next((line for line in lines if line.startswith("E:")), lines[-1])
            raise Unavailable(f"Chromium cannot be installed: {cause}")
    return shutil.which("chromium")


def open_page(chromium, url, reports, *more):
    """The page's reports."""
    with tempfile.TemporaryDirectory(prefix="jpeer-browser-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        with open(log, "w", encoding="utf-8") as file:
            browser = subprocess.Popen([chromium, *FLAGS, *more, f"--user-data-dir={folder}/profile", url],
                                       stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
        try:
            return reports.get(timeout=PAGE_SECONDS)
        except queue.Empty:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
            raise AssertionError(f"the page has not reported: {lines}") from None
        finally:
            os.killpg(browser.pid, signal.SIGKILL)  # all processes of the browser
            browser.wait()


def check(chromium, site, page, options, expected):
    with Peer("--rpc-idempotent", "java.lang.System.setProperty", *options) as peer:
        report = f"http://127.0.0.1:{site.server_port}/report"
        query = urlencode({"peer": peer.address("http"), "report": report})
        seen = open_page(chromium, f"{page}?{query}", site.reports)
        with HttpClient(peer) as client:
            mark = client.call("java.lang.System", "getProperty", "page")
    wrong = {name: (seen.get(name), value) for name, value in expected.items() if seen.get(name) != value}
    assert not wrong, f"seen and expected: {wrong}"
    assert mark is None, "the page ran an unexpected step"


def key_digest(certificate):
    """What Chromium knows a certificate by, whose authority it does not trust."""
    key = certificates.openssl("x509", "-in", certificate, "-noout", "-pubkey")
    der = base64.b64decode("".join(line for line in key.splitlines() if not line.startswith("-")))
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def check_with_token(chromium, site, page, options, expected):
    with tempfile.TemporaryDirectory(prefix="jpeer-browser-") as folder:
        pair = certificates.Authority(folder).issue("server")
        certificates.install(pair, folder)
        people = Path(folder, "people.yaml")
        people.touch(0o600)
        people.write_text(PRINCIPALS, encoding="utf-8")
        with Peer("--tls-cert", Path(folder, "cert.pem"), "--tls-key", Path(folder, "key.pem"), "--principals", people,
                  "--json-rpc", "auto", *options, addresses=False, allow=False) as peer:
            query = urlencode({"peer": peer.address("https"), "report": f"http://127.0.0.1:{site.server_port}/report"})
            seen = open_page(chromium, f"{page}?{query}#{TOKEN}", site.reports,
                             f"--ignore-certificate-errors-spki-list={key_digest(pair[0])}")
            assert TOKEN not in peer.stderr(), "the log has the token"
    assert seen == expected, f"seen and expected: {seen}, {expected}"


def main():
    try:
        chromium = find_chromium()
    except Unavailable as reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        return 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        site.reports = queue.Queue()
        threading.Thread(target=site.serve_forever, daemon=True).start()
        origin, other = (f"http://{host}:{site.server_port}" for host in ("localhost", "127.0.0.1"))
        allowed = ("--allow-origin", f"https://app.test,{origin}")
        cases = ((check, "an origin that is allowed", f"{origin}/", allowed, SEEN),
                 (check, "another origin", f"{other}/", allowed, REFUSED),
                 (check, "the origin null", f"{origin}/sandboxed", allowed, REFUSED),
                 (check, "no origin is allowed", f"{origin}/", (), REFUSED),
                 (check_with_token, "an allowed origin with a token, over TLS", f"{origin}/", allowed, SEEN_WITH_TOKEN),
                 (check_with_token, "another origin with the token", f"{other}/", allowed, REFUSED_WITH_TOKEN),
                 (check_with_token, "the origin null with the token", f"{origin}/sandboxed", allowed, REFUSED_WITH_TOKEN))
        passed = failed = 0
        for run, name, page, options, expected in cases:
            try:
                run(chromium, site, page, options, expected)
                print(f"passed: {name}", flush=True)
                passed += 1
            except AssertionError as wrong:
                print(f"failed: {name}: {wrong}", flush=True)
                failed += 1
        site.shutdown()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
