"""Opens a page in Chromium that calls a peer in every way that a page can. A page of an origin in --allow-origin must
receive the answers. Pages of other origins, or pages if the option is not set, must receive no answer and
have no effect. Installs Chromium if it is missing. If Chromium cannot be installed, the run is skipped, with
the reason.
"""

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


def open_page(chromium, url, reports):
    """The page's reports."""
    with tempfile.TemporaryDirectory(prefix="jpeer-browser-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        with open(log, "w", encoding="utf-8") as file:
            browser = subprocess.Popen([chromium, *FLAGS, f"--user-data-dir={folder}/profile", url],
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
        cases = (("an origin that is allowed", f"{origin}/", allowed, SEEN),
                 ("another origin", f"{other}/", allowed, REFUSED),
                 ("the origin null", f"{origin}/sandboxed", allowed, REFUSED),
                 ("no origin is allowed", f"{origin}/", (), REFUSED))
        passed = failed = 0
        for name, page, options, expected in cases:
            try:
                check(chromium, site, page, options, expected)
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
