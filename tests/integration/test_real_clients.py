"""Who gets what, with clients and proxies that others wrote: nginx in front of the peer, `openssl s_client`, pyzmq with CURVE;
and with libjpeer-client in `jpeer rpc`. Like test_principals.WhoAndWhat, each row is one of a table of docs/security.md.
tests/release/browser.py does the same with Chromium."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import types
import unittest
from pathlib import Path
from urllib.parse import urlsplit

import zmq

from release import browser
from support import certificates, principals
from support.clients import SECONDS, WHOAMI, CurveClient, HttpClient
from support.peer import BINARY, ROOT, environment, eventually, run_to_end
from support.principals import ALICE, BOB, CAROL, LISTED, bearer

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
NGINX_FILE = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_to_peer {{ default upgrade; '' ''; }}
  upstream port {{ server 127.0.0.1:{port}; keepalive 1; }}
  proxy_http_version 1.1; proxy_set_header Host localhost;
  proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_to_peer;
  proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_trusted_certificate {folder}/ca.pem;
  server {{
    listen 127.0.0.1:{front} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location /port/ {{ proxy_pass https://port/; }}
    location /named/ {{
      proxy_pass https://port/; proxy_ssl_certificate {folder}/named.pem; proxy_ssl_certificate_key {folder}/named.key;
    }}
    {printed}
  }}
}}
"""


class RealClients(principals.PrincipalsTable):
    def begin(self, text, *options):
        """The peer also has a port with CURVE, and alice and bob a key each."""
        key_file = self.file.with_name("peer.key")
        self.server_key = run_to_end("keygen", key_file).stdout.strip().encode()
        self.keys = {name: zmq.curve_keypair() for name in ("alice", "bob", "stranger")}
        for name in ("alice", "bob"):
            text = text.replace(f"  - name: {name}\n", f"  - name: {name}\n    curve-keys: ['{self.keys[name][0].decode()}']\n")
        super().begin(text, "--zmq-rpc", "auto", "--zmq-curve-key", key_file, *options)
        self.nginx = None
        self.addCleanup(self.stop_nginx)

    # ---- nginx, which runs as a user whom the principals file lists ----

    def front(self, way):
        """Stands for the peer in a client whose requests go through nginx. "socket": as docs/security.md prints it."""
        if NGINX is None:
            self.skipTest("needs nginx (Debian: nginx-light)")  # only the row
        if self.nginx is None:
            self.start_nginx()
        path = "/rpc" if way == "socket" else f"/{way}/rpc"
        return types.SimpleNamespace(address=lambda scheme: f"{scheme}s://localhost:{self.front_port}{path}", tls=self.peer.tls,
                                     clients=self.peer.clients)

    def start_nginx(self):
        folder = Path(self.file.parent, "nginx")
        folder.mkdir()
        certificates.install(self.ca.issue("front"), folder)
        certificates.put(self.ca.certificate, folder / "ca.pem")
        for source, name in zip(self.pairs["alice"], ("named.pem", "named.key")):
            certificates.put(source, folder / name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.front_port = free.getsockname()[1]
        page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
        printed = re.search(r"^```nginx\n(.*?)^```", page, re.M | re.S)[1]
        (folder / "conf").write_text(NGINX_FILE.format(
            folder=folder, front=self.front_port, port=urlsplit(self.peer.address("https")).port,
            printed=printed.replace("/run/app/app.sock", self.peer.socket_path("http+unix"))), encoding="ascii")
        for each in (folder, *folder.iterdir()):
            os.chown(each, LISTED, LISTED)
        folder.parent.chmod(0o755)
        self.nginx = subprocess.Popen([*self.become(LISTED), NGINX, "-e", folder / "error.log", "-p", folder, "-c", folder / "conf"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def listens():
            self.assertIsNone(self.nginx.poll(), "nginx has ended")
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.front_port), SECONDS):
                return True
        eventually(listens, "nginx listens")

    def stop_nginx(self):
        if self.nginx is not None:
            self.nginx.terminate()
            _, errors = self.nginx.communicate(timeout=SECONDS)
            self.assertEqual(self.nginx.returncode, 0, errors)

    def connections_of_nginx(self):
        """The ports from which nginx is connected to the peer's port."""
        port = urlsplit(self.peer.address("https")).port
        rows = (row.split() for row in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:])
        return {row[1] for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "01" and row[7] == str(LISTED)}

    def proxied(self, *tokens, way="port", headers=None):
        """One connection to nginx, which keeps one to the peer until a refusal. None is no token."""
        client = self.row.enter_context(HttpClient(self.front(way)))
        found, before = [], None
        for token in tokens:
            response, body = client.post(json.dumps(WHOAMI), {**(bearer(token) if token else {}), **(headers or {})})
            found.append(self.outcome(body, str(response.status)))
            used = self.connections_of_nginx() if response.status == 200 and way == "port" else None
            self.assertTrue(None in (before, used) or before == used and len(used) == 1, (before, used))
            before = used
        return ", ".join(found)

    def over_proxied_websocket(self, way="port", **more):
        peer, self.peer = self.peer, self.front(way)
        try:
            return self.knows(**more)
        finally:
            self.peer = peer

    # ---- openssl s_client ----

    def s_client(self, *options, token=None, cert=None, before=""):
        """What it prints after it has sent `before`, which may be a command of its own, and one request."""
        pair = self.pairs.get(cert)
        body = json.dumps(WHOAMI)
        head = (f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n" + (f"Authorization: Bearer {token}\r\n" if token else "") + "\r\n")
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{urlsplit(self.peer.address('https')).port}", "-servername",
             "localhost", "-verify_return_error", "-CAfile", self.ca.certificate, *options,
             *(("-cert", pair[0], "-key", pair[1]) if pair else ())],
            input=before + head + body, capture_output=True, text=True, check=False, timeout=SECONDS)
        return done.stdout + done.stderr

    def by_openssl(self, *options, **more):
        """The principal or the status; else why there was none."""
        printed = self.s_client("-ign_eof", *options, **more)
        found = re.search(r'principal\\":\\"(\w+)|HTTP/1.1 (4\d\d)', printed)
        if found:
            self.assertIn("Compression: NONE", printed)
            return found[1] or found[2]
        return re.search(r"alert protocol version|alert handshake failure|no renegotiation|certificate required|$", printed)[0]

    def resumed(self, version):
        """How the second of two connections begins, where the client asks for the session of the first."""
        kept = self.file.with_name("session")
        self.assertIn("alice", self.s_client("-ign_eof", version, "-sess_out", kept, cert="alice"))
        if not kept.exists():
            return "no session"
        printed = self.s_client("-ign_eof", version, "-sess_in", kept, cert="alice")
        return f"{re.search('^(New|Reused)', printed, re.M)[0]}, {re.search('alice|$', printed)[0]}"

    # ---- CURVE, and libjpeer-client ----

    def curve(self, name, server=None):
        client = self.row.enter_context(CurveClient(self.peer, self.keys.get(name), server or self.server_key))
        client.send(json.dumps(WHOAMI))
        kinds = {zmq.EVENT_HANDSHAKE_FAILED_AUTH: "refused with 400", zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "no handshake",
                 zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "no handshake"}
        while True:
            event = zmq.utils.monitor.recv_monitor_message(client.monitor)
            if event["event"] in kinds:
                return kinds[event["event"]]
            if event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                return json.loads(json.loads(client.receive())["result"]["value"]["value"])["principal"]

    def command(self, token, scheme="wss"):
        """jpeer rpc: the principal, or its exit status."""
        file = self.file.with_name("token")
        file.touch(0o600)
        file.write_text(token, encoding="ascii")
        done = subprocess.run([BINARY, "rpc", "--url", self.peer.address(scheme), "--token-file", file, "--ca-file",
                               self.ca.certificate], input=json.dumps(WHOAMI) + "\n", env=environment(),
                              capture_output=True, text=True, check=False, timeout=SECONDS)
        found = re.search(r'principal\\":\\"(\w+)', done.stdout)
        if found:
            return found[1]
        status = re.search(r"\b40[0-9]\b|$", done.stderr)[0]
        return f"exit status {done.returncode}, {status}"

    ROWS = (
        ("alice's token", "nginx, to a port", "alice", lambda t: t.proxied(ALICE)),
        ("a wrong token", "nginx, to a port", "401", lambda t: t.proxied("x")),
        ("alice, bob, nobody, a wrong token, alice", "nginx, to a port, one connection", "alice, bob, 401, 401, alice",
         lambda t: t.proxied(ALICE, BOB, None, "x", ALICE)),
        ("another page with alice's token", "nginx, to a port", "403", lambda t: t.proxied(
            ALICE, headers={"Origin": "https://evil.test"})),
        ("alice's token", "WebSocket through nginx", "alice", lambda t: t.over_proxied_websocket(headers=bearer(ALICE))),
        ("subprotocols jpeer and alice's token", "WebSocket through nginx", "alice", lambda t: t.over_proxied_websocket(
            offer=["jpeer", "jpeer.token." + ALICE])),
        ("nobody", "WebSocket through nginx", "401", lambda t: t.over_proxied_websocket()),
        ("bob's token", "nginx with alice's certificate, to a port", "bob", lambda t: t.proxied(BOB, way="named")),
        ("**nobody**", "nginx with alice's certificate, to a port", "alice", lambda t: t.proxied(None, way="named")),
        ("alice, carol, a wrong token", "nginx as bob's Unix user, to a Unix socket, one connection", "alice, carol, 401",
         lambda t: t.proxied(ALICE, CAROL, "x", way="socket")),
        ("carol's token", "WebSocket through nginx, to a Unix socket", "carol", lambda t: t.over_proxied_websocket(
            "socket", headers=bearer(CAROL))),
        ("**nobody**", "nginx as bob's Unix user, to a Unix socket", "bob", lambda t: t.proxied(None, way="socket")),
        ("alice's token", "`openssl s_client`, TLS 1.3", "alice", lambda t: t.by_openssl("-tls1_3", token=ALICE)),
        ("alice's certificate", "`openssl s_client`, TLS 1.2, ECDHE and AES-GCM", "alice", lambda t: t.by_openssl(
            "-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384", cert="alice")),
        ("alice's certificate", "`openssl s_client`, TLS 1.2, ECDHE and ChaCha20", "alice", lambda t: t.by_openssl(
            "-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305", cert="alice")),
        ("alice's certificate", "`openssl s_client`, TLS 1.2, CBC", "alert handshake failure", lambda t: t.by_openssl(
            "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256", cert="alice")),
        ("alice's certificate", "`openssl s_client`, TLS 1.2, no ECDHE", "alert handshake failure", lambda t: t.by_openssl(
            "-tls1_2", "-cipher", "AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256", cert="alice")),
        *(("alice's certificate", f"`openssl s_client`, TLS 1.{minor}", "alert protocol version", lambda t, option=option: t.by_openssl(
            option, "-cipher", "DEFAULT@SECLEVEL=0", cert="alice")) for minor, option in ((1, "-tls1_1"), (0, "-tls1"))),
        ("alice's certificate", "`openssl s_client`, renegotiation", "no renegotiation", lambda t: re.search(
            "no renegotiation|$", t.s_client("-tls1_2", before="R\n", cert="alice"))[0]),
        ("alice's certificate", "`openssl s_client`, TLS 1.3, the session of a connection before", "no session",
         lambda t: t.resumed("-tls1_3")),
        ("alice's certificate", "`openssl s_client`, TLS 1.2, the session of a connection before", "no session",
         lambda t: t.resumed("-tls1_2")),
        ("alice's key", "pyzmq with CURVE", "alice", lambda t: t.curve("alice")),
        ("bob's key", "pyzmq with CURVE", "bob", lambda t: t.curve("bob")),
        ("a key that nobody lists", "pyzmq with CURVE", "refused with 400", lambda t: t.curve("stranger")),
        ("alice's key", "pyzmq with CURVE, and another key of the peer", "no handshake", lambda t: t.curve(
            "alice", server=t.keys["stranger"][0])),
        ("nobody", "pyzmq without CURVE", "no handshake", lambda t: t.curve(None)),
        ("alice's token", "`jpeer rpc` (C)", "alice", lambda t: t.command(ALICE)),
        ("alice's token", "`jpeer rpc` (C), over HTTPS", "alice", lambda t: t.command(ALICE, "https")),
        ("a wrong token", "`jpeer rpc` (C)", "exit status 4, 401", lambda t: t.command("jp_x")),
    )
    OPEN_ROWS = (
        ("nobody", "nginx, to a port", "guest", lambda t: t.proxied(None)),
        ("a wrong token", "nginx, to a port", "401", lambda t: t.proxied("x")),
        ("nobody", "`openssl s_client`, TLS 1.3", "guest", lambda t: t.by_openssl("-tls1_3")),
        ("a key that nobody lists", "pyzmq with CURVE", "refused with 400", lambda t: t.curve("stranger")),
        ("nobody", "pyzmq without CURVE, to a port with CURVE", "no handshake", lambda t: t.curve(None)),
    )

    def test_the_docs_have_the_table_of_pages(self):
        rows = "".join(f"| {words} | {browser.SEEN_WITH_TOKEN[step]} | {browser.REFUSED_WITH_TOKEN[step]} |\n"
                       for step, words in browser.STEPS.items())
        self.assertIn(rows, (ROOT / "docs/security.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
