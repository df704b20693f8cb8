"""etcd of one or three members on loopback, for tests: `with Etcd() as etcd: etcd.endpoints`.

Debian's etcd-server and etcd-client have the programs; installed() says what is missing, for skipUnless.
"""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import uuid
from pathlib import Path

from support import certificates

START_SECONDS = 30
MISSING = [name for name in ("etcd", "etcdctl") if shutil.which(name) is None]
WHY_NOT = f"not installed: {', '.join(MISSING)} (Debian: etcd-server, etcd-client)"


def installed():
    return not MISSING


def free_ports(count):
    """Ports that nobody listens on now. They are below the range that the kernel gives to connections, so that none is
    taken by a connection before its server starts."""
    sockets, ports = [], []
    start = 20000 + os.getpid() * 37 % 10000
    for port in range(start, start + 2000):
        attempt = socket.socket()
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError:
            attempt.close()
            continue
        sockets.append(attempt)
        ports.append(port)
        if len(ports) == count:
            break
    for each in sockets:
        each.close()
    return ports


class Member:
    """One process. It may be killed, stopped (SIGSTOP) and started again on the same data."""

    def __init__(self, command, log):
        self.command, self.log, self.process = command, log, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def hang(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)  # until then its threads answer

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Etcd:
    """A cluster. `endpoints` is the value of -d; `members` are its processes, `ports` their ports for clients.

    tls: clients speak TLS, and `folder`/root.pem is the authority. verify: they need a certificate, too.
    """

    def __init__(self, members=1, tls=False, verify=False, options=(), port=None):
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-etcd-")
        folder = Path(self.folder.name)
        ports = free_ports(2 * members)
        self.ports = ports[:members] if port is None else [port]
        self.tls, self.user = tls, None
        scheme = "https" if tls else "http"
        self.urls = [f"{scheme}://127.0.0.1:{port}" for port in self.ports]
        self.endpoints = ",".join(self.urls if tls else (f"127.0.0.1:{port}" for port in self.ports))
        extra = [*options]
        self.etcdctl_tls = []
        if tls:
            self.authority = certificates.Authority(folder, "root")
            cert, key = self.authority.issue("etcd")
            extra += ["--cert-file", cert, "--key-file", key]
            self.etcdctl_tls = ["--cacert", self.authority.certificate]
            if verify:
                extra += ["--client-cert-auth", "--trusted-ca-file", self.authority.certificate]
                self.client = self.authority.issue("client", certificates.CLIENT)  # (certificate, key)
                self.etcdctl_tls += ["--cert", self.client[0], "--key", self.client[1]]
        peers = [f"http://127.0.0.1:{port}" for port in ports[members:]]
        cluster = ",".join(f"m{number}={peer}" for number, peer in enumerate(peers))
        self.members = [Member(
            ["etcd", "--name", f"m{number}", "--data-dir", str(folder / f"data{number}"), "--logger", "zap",
             "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster, *map(str, extra)],
            folder / f"log{number}") for number, (url, peer) in enumerate(zip(self.urls, peers))]

    def __enter__(self):
        try:
            for member in self.members:
                member.start()
            self.await_health()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for member in self.members:
            member.kill()
        self.folder.cleanup()

    def await_health(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            done = self.ctl("endpoint", "health", check=False)
            if done.returncode == 0:
                return
            if time.monotonic() > deadline:
                logs = "".join(member.log.read_text(errors="replace")[-2000:] for member in self.members)
                raise AssertionError(f"etcd is not healthy within {START_SECONDS} s: {done.stderr}\n{logs}")
            time.sleep(0.05)

    def ctl(self, *words, check=True, text=None):
        """Runs etcdctl, with that text as its input."""
        user = ["--user", self.user] if self.user else []
        return subprocess.run(["etcdctl", "--endpoints", ",".join(self.urls), *self.etcdctl_tls, *user, *words],
                              env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True, check=check,
                              input=text, timeout=START_SECONDS)

    def read(self, prefix="/pal"):
        """All keys with the prefix and their values, as `etcdctl get --prefix` reads them."""
        answer = json.loads(self.ctl("get", "--prefix", prefix, "-w", "json").stdout)
        decode = lambda text: base64.b64decode(text).decode()  # noqa: E731
        return {decode(each["key"]): decode(each.get("value", "")) for each in answer.get("kvs", ())}

    def put(self, key, value):
        self.ctl("put", "--", key, value)

    def put_peer(self, url, name=None, service=None):
        """Writes the entries of a peer, as anybody may who can reach the directory. Returns its UUID."""
        number = str(uuid.uuid4())
        self.put(f"/pal/peers/{number}/state", json.dumps({"jsonRpc": url}))
        if name is not None:
            self.put(f"/pal/peers/{number}/info", json.dumps({"uuid": number, "name": name, "ctimeMillis": 1}))
            self.put(f"/pal/peers/by-name/{name}", number)
        if service is not None:
            self.put(f"/pal/services/{service}/{number}", json.dumps({"uuid": number, "jsonRpc": url}))
        return number

    def enable_users(self, user="root", password="secret:with colon"):
        """From now on a user is asked for. Returns the text of a user file."""
        self.ctl("user", "add", f"{user}:{password}")
        self.ctl("user", "grant-role", user, "root")
        self.ctl("auth", "enable")
        self.user = f"{user}:{password}"
        return f"{user}:{password}\n"

    def leader(self):
        """The member that leads."""
        status = json.loads(self.ctl("endpoint", "status", "-w", "json").stdout)
        for each in status:
            if each["Status"]["header"]["member_id"] == each["Status"]["leader"]:
                return self.members[self.urls.index(each["Endpoint"])]
        raise AssertionError(f"no leader: {status}")


@unittest.skipUnless(installed(), WHY_NOT)
class DirectoryCase(unittest.TestCase):
    """An etcd for all tests of the class, without entries when a test begins."""

    @classmethod
    def setUpClass(cls):
        cls.etcd = cls.enterClassContext(Etcd())

    def setUp(self):
        self.etcd.ctl("del", "--prefix", "/pal")

    def url(self, target):
        return f"dir://{self.etcd.endpoints}/{target}"
