"""Principals of the real peer: files, tokens, clients with tokens, and tables of who may do what."""

import contextlib
import hashlib
import json
import os
import re
import ssl
import tempfile
from pathlib import Path

import websockets
import websockets.exceptions

from support import certificates, shm
from support.clients import WHOAMI, HttpClient, WebSocketClient, whoami
from support.other_users import CAN_BECOME, CANNOT_BECOME, become, curl
from support.peer import ROOT
from support.peer_case import PeerCase

ALICE, BOB, CAROL, DAVE = ("jp_" + letter * 43 for letter in "abcd")
LISTED, UNLISTED, GROUP = 65533, 65534, 65532  # users and a group; numbers without a name


def digest(token):
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


FILE = f"""# who may come in
principals:
  - name: alice
    tokens: ["{digest(ALICE)}"]
    allow: ["jdk:java.lang.Math", "jdk:java.util.ArrayList", "jdk:java.lang.Thread"]
    limits: {{connections: 3, sessions: 2, objects: 4, calls: 1}}
  - name: bob
    tokens: ["{digest(BOB)}"]
    unix-users: [{LISTED}]
    admin: true
  - name: carol
    tokens: ["{digest(CAROL)}"]
    unix-groups: [{GROUP}]
    preset: [deny-unsafe]
"""


def bearer(token):
    return {"Authorization": "Bearer " + token}


class TokenHttpClient(HttpClient):
    def __init__(self, peer, token, peer_id=None):
        super().__init__(peer, peer_id)
        self.token = token

    def post(self, body, headers=None):
        return super().post(body, {**bearer(self.token), **(headers or {})})


class Principals(PeerCase):
    def write(self, text, mode=0o600):
        new = self.file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.chmod(mode)
        os.replace(new, self.file)

    def setUp(self):
        super().setUp()
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-principals-")), "people.yaml")

    def serve(self, text=FILE, *options, **more):
        self.write(text)
        peer = self.start("--json-rpc", "auto", "--principals", self.file, *options, addresses=False, sockets=True,
                          **more)
        os.chmod(peer.folder.name, 0o755)
        return peer

    def http(self, token, peer_id=None):
        return self._opened.enter_context(TokenHttpClient(self.peer, token, peer_id))

    def websocket(self, token):
        return WebSocketClient(self.peer, bearer(token))

    def status(self, *arguments, body=WHOAMI, before=()):
        """What curl gets over the Unix socket: the principal, or the status."""
        status, content = curl(self.peer.socket_path("http+unix"), *arguments, body=json.dumps(body), before=before)
        return json.loads(json.loads(content)["result"]["value"]["value"])["principal"] if status == 200 else status


TABLE_FILE = """principals:
  - name: alice
    tokens: ["{alice}"]
    certificates: ["CN=alice"]
    allow: [fixtures.Calling, "jdk:java.lang.Math", "jdk:java.util.ArrayList", "jdk:java.lang.Thread", "jdk:java.util.concurrent.Callable"]
    limits: {{connections: 6, sessions: 2, objects: 4, calls: 1}}
  - name: bob
    tokens: ["{bob}"]
    certificates: ["{certificate}"]
    unix-users: [{user}]
    admin: true
  - name: carol
    tokens: ["{carol}"]
  - name: dave
    tokens: ["{dave}"]
    metrics: true
"""
GUEST = "  - {name: guest, anonymous: true, allow: ['jdk:java.lang.Math']}\n"


def by(token):
    return "-H", "Authorization: Bearer " + token


class PrincipalsTable(Principals):
    """Each row is a client, its action, the result, and the function that acts. ROWS and OPEN_ROWS are the subclass's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-table-")))
        cls.ca = certificates.Authority(cls.folder)
        certificates.install(cls.ca.issue("server"), cls.folder)
        client = certificates.CLIENT
        cls.pairs = {name: cls.ca.issue(name, client) for name in ("alice", "bob", "unlisted", "revoked")}
        cls.pairs["expired"] = cls.ca.issue("expired", client, "200101000000Z", "210101000000Z", subject="alice")
        cls.pairs["foreign"] = cls.ca.sign_itself("foreign", client)
        cls.ca.revoke(cls.pairs["revoked"][0])
        der = ssl.PEM_cert_to_DER_cert(cls.pairs["bob"][0].read_text(encoding="ascii"))
        cls.text = TABLE_FILE.format(alice=digest(ALICE), bob=digest(BOB), carol=digest(CAROL), dave=digest(DAVE), user=LISTED,
                                     certificate="sha256:" + hashlib.sha256(der).hexdigest())

    def begin(self, text, *options):
        peer = self.serve(text, "--json-rpc", "auto", "--tls-cert", self.folder / "cert.pem", "--tls-key",
                          self.folder / "key.pem", "--tls-client-auth", "optional", "--allow-origin", "https://app.test",
                          "--rpc-policy-watch-interval", "200", *options)
        peer.tls = certificates.client_context(self.ca)

    @staticmethod
    def outcome(content, status):
        if status == "000":
            return "no TLS"
        is_answer = status == "200" and content[:1] in ("{", b"{")  # else of a page for operators
        return json.loads(json.loads(content)["result"]["value"]["value"])["principal"] if is_answer else status

    def become(self, user):
        if not CAN_BECOME:
            self.skipTest(CANNOT_BECOME)  # only the row
        return become(user, user)

    def socket(self, headers=None, offer=None, cert=None, kind=WebSocketClient):
        if cert is not None:
            self.peer.tls = certificates.client_context(self.ca, self.pairs[cert])
        if offer is not None:
            async def connect(_self, peer, **options):
                return await websockets.connect(peer.address("ws"), ssl=peer.tls, subprotocols=offer, **options)
            kind = type("Offering", (kind,), {"_connect": connect})
        try:
            return self.row.enter_context(kind(self.peer, headers))
        finally:
            self.peer.tls = certificates.client_context(self.ca)

    def knows(self, **more):
        try:
            client = self.socket(**more)
        except websockets.exceptions.InvalidStatusCode as error:
            return str(error.status_code)
        except shm.Refused as error:
            return re.search("40[0-9]", str(error)).group()
        if "offer" in more:
            self.assertEqual(client.socket.subprotocol, "jpeer")
            self.assertNotIn(ALICE, str(client.socket.response_headers))
        return whoami(client)["principal"]

    def check(self, rows):
        for who, what, expected, run in rows:
            with self.subTest(who=who, what=what), contextlib.ExitStack() as self.row:
                self.assertEqual(run(self), expected)

    def test_the_first_table_holds_with_a_ca_and_nobody_anonymous(self):
        self.begin(self.text, "--tls-client-ca", self.ca.certificate, "--tls-client-crl", self.ca.crl)
        self.check(self.ROWS)

    def test_the_second_table_holds_without_a_ca_and_with_anonymous(self):
        self.begin(self.text + GUEST)
        self.check(self.OPEN_ROWS)

    def test_the_docs_have_both_tables(self):
        page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
        for rows in (self.ROWS, self.OPEN_ROWS):
            table = "".join(f"| {who} | {what} | {expected} |\n" for who, what, expected, _ in rows)
            self.assertTrue(table in page, f"docs/security.md has to have the rows\n{table}")
