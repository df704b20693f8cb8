"""The recipes of docs/security.md are run as they are printed, by the users that they name.

A comment before a block says what it belongs to: `recipe NAME, as USER` are commands, `recipe NAME, as USER: TEXT` are commands
that print the text, and `recipe NAME, file PATH of USER` is the content of a file. A peer runs until the end of its recipe;
"..." stands for the application. The machine of a recipe is a mount and network namespace with a copy of /etc, these users, and
the certificates and files that the page presumes.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import certificates
from support.peer import BINARY, ROOT, complaints_in, environment, eventually

USERS = {"app": 64001, "alice": 64002, "bob": 64003, "stranger": 64004}
GROUP = 64010  # analysts; bob is a member
BLOCK = re.compile(r"^<!-- recipe (?P<name>[\w-]+), (?:file (?P<path>\S+) of (?P<owner>\w+)|as (?P<user>\w+)(?:: (?P<prints>.*?))?) -->\n"
                   r"```\w+\n(?P<text>.*?)^```", re.S | re.M)
PRINCIPALS = """principals:
  - name: reporting
    certificates: ["CN=reporting"]
    tokens: []
    allow: [java.lang.Math]
"""
POLICY = "rules:\n  - {class: java.lang.Math, action: ALLOW}\n"
PAGE = ROOT / "docs/security.md"


def can_be_a_machine():
    return os.geteuid() == 0 and all(map(shutil.which, ("unshare", "nsenter", "setpriv", "ip", "mount"))) and subprocess.run(
        ["unshare", "--mount", "--net", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0


class Machine:
    def __init__(self, folder):
        self.folder = folder
        self.holder = subprocess.Popen(["unshare", "--mount", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        eventually(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "the namespace")
        self.tools = folder / "bin"
        self.tools.mkdir()
        (self.tools / "jpeer").symlink_to(BINARY)
        shutil.copytree("/etc", folder / "etc", symlinks=True)
        with open(folder / "etc/passwd", "a", encoding="utf-8") as passwd, open(folder / "etc/group", "a", encoding="utf-8") as group:
            for name, number in USERS.items():
                passwd.write(f"{name}:x:{number}:{number}::/home/{name}:/bin/sh\n")
                group.write(f"{name}:x:{number}:\n")
            group.write(f"analysts:x:{GROUP}:bob\n")
        self.run("root", f"mount --bind {folder}/etc /etc && mount -t tmpfs none /run && mount -t tmpfs none /home"
                         " && ip link set lo up && ip address add 10.0.0.5/32 dev lo")
        for name in USERS:
            self.run("root", f"install -d -m 0700 -o {name} -g {name} /home/{name} /run/user/{USERS[name]}")

    def command(self, user, text):
        number = USERS.get(user, 0)
        groups = ["--groups", str(GROUP)] if user == "bob" else ["--clear-groups"]
        return ["nsenter", "--target", str(self.holder.pid), "--mount", "--net", "setpriv", f"--reuid={number}",
                f"--regid={number}", *groups, "sh", "-c", f"cd {f'/home/{user}' if number else '/'} && {{ {text}\n}}"]

    def environment(self, user, **more):
        return environment(PATH=f"{self.tools}:{os.environ['PATH']}", HOME=f"/home/{user}",
                           XDG_RUNTIME_DIR=f"/run/user/{USERS.get(user, 0)}", **more)

    def run(self, user, text, status=0):
        done = subprocess.run(self.command(user, text), env=self.environment(user), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=120)
        assert done.returncode == status and not complaints_in(done.stderr), (user, text, done)
        return done.stdout

    def put(self, path, content, owner):
        source = self.folder / "file"
        source.write_text(content, encoding="utf-8")
        self.run("root", f"install -d -m 0755 -o {owner} {Path(path).parent} && install -m 0600 -o {owner} -g {owner} {source} {path}")

    @contextlib.contextmanager
    def peer(self, user, text):
        """Runs the commands until the end of the context."""
        self.run("root", "rm -f /run/ready.json && touch /run/x && chmod 1777 /run")
        with open(self.folder / "log", "w+", encoding="utf-8") as log:
            process = subprocess.Popen(self.command(user, "exec " + text.replace("...", "--as-service")), stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, env=self.environment(user, JPEER_READY_FILE="/run/ready.json"))
            try:
                root = Path(f"/proc/{self.holder.pid}/root/run/ready.json")
                eventually(lambda: root.exists() or process.poll() is not None, "the peer is ready")
                assert process.poll() is None, Path(log.name).read_text(encoding="utf-8")
                yield Path(log.name)
            finally:
                process.terminate()
                process.wait(60)
            printed = Path(log.name).read_text(encoding="utf-8")
            assert process.returncode == 0 and not complaints_in(printed), printed

    def close(self):
        self.holder.kill()
        self.holder.wait()


@unittest.skipUnless(can_be_a_machine(), "needs root, and mount and network namespaces")
class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-recipe-")))
        cls.files.chmod(0o755)
        authority = certificates.Authority(cls.files, "ca")
        cls.pairs = {"server": authority.issue("server", "subjectAltName=IP:10.0.0.5"),
                     "reporting": authority.issue("reporting", certificates.CLIENT)}
        cls.authority = authority

    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-machine-")))
        folder.chmod(0o755)
        self.machine = Machine(folder)
        self.addCleanup(self.machine.close)
        put = self.machine.put
        put("/etc/app/policy.yaml", POLICY, "app")
        put("/etc/app/principals.yaml", PRINCIPALS, "app")
        cert, key = self.pairs["server"]
        for name, source in (("cert.pem", cert), ("key.pem", key), ("clients-ca.pem", self.authority.certificate),
                             ("clients.crl", self.authority.crl)):
            put(f"/etc/app/{name}", source.read_text(encoding="ascii"), "app")
        for name, source in (("ca.pem", self.authority.certificate), ("reporting.pem", self.pairs["reporting"][0]),
                             ("reporting.key", self.pairs["reporting"][1])):
            put(f"/home/alice/{name}", source.read_text(encoding="ascii"), "alice")
        put("/home/alice/reporting.token", self.machine.run("app", "jpeer token new reporting --file /etc/app/principals.yaml | head -n 1"), "alice")
        self.running = contextlib.ExitStack()

    def follow(self, name):
        """Runs the blocks of a recipe; its peers go on until the end of self.running."""
        found = 0
        for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
            if block["name"] != name:
                continue
            found += 1
            if block["path"]:
                self.machine.put(block["path"], block["text"], block["owner"])
            elif block["text"].startswith("jpeer run"):
                self.running.enter_context(self.machine.peer(block["user"], block["text"]))
            else:
                printed = self.machine.run(block["user"], block["text"])
                if block["prints"]:
                    self.assertEqual(self.value_of(printed), block["prints"])
        self.assertGreater(found, 0)

    @staticmethod
    def value_of(printed):
        return json.loads(printed)["result"]["value"]["value"] if printed.startswith("{") else printed.strip()

    def call(self, user, url, status, options=""):
        return self.machine.run(user, f"jpeer call --url {url} {options} 'Math.max(3, 5)'", status)

    def test_one_user(self):
        with self.running:
            self.follow("one-user")
            for user in ("bob", "root"):
                self.call(user, f"ws+unix:/run/user/{USERS['app']}/app.sock", 4)

    def test_several_users_with_rights_of_their_own(self):
        with self.running:
            self.follow("several")
            token = self.machine.run("app", "cat reporting.token").strip()
            self.machine.put("/home/stranger/token", token, "stranger")
            self.call("bob", "ws+unix:/run/app/app.sock", 0)
            self.call("stranger", "ws+unix:/run/app/app.sock", 4)
            self.call("stranger", "ws://127.0.0.1:4711/rpc", 4)
            eventually(lambda: self.machine.run("stranger", "jpeer call --url ws://127.0.0.1:4711/rpc --token-file token 'Math.max(3, 5)'"
                                                            " || true").strip() == "5", "the new token counts")
            self.machine.run("alice", "jpeer call --url ws+unix:/run/app/app.sock 'Runtime.getRuntime()'", 3)

    def test_several_users_with_the_same_rights(self):
        with self.running:
            self.follow("same-rights")
            for user, status in (("alice", 0), ("bob", 0), ("app", 0), ("stranger", 4)):
                self.call(user, "ws+unix:/run/app/app.sock", status)

    def test_a_network(self):
        with self.running:
            self.follow("network")
            self.machine.run("stranger", "curl --silent --insecure https://10.0.0.5:4711/rpc/help", 56)

    def test_a_network_with_tokens(self):
        with self.running:
            self.follow("network-tokens")
            self.machine.put("/home/stranger/ca.pem", self.authority.certificate.read_text(encoding="ascii"), "stranger")
            self.call("stranger", "wss://10.0.0.5:4711/rpc", 4, "--ca-file ca.pem")

    def test_a_page(self):
        with self.running:
            self.follow("page")
            for origin, token, status in (("evil", "reporting.token", "403"), ("app", "/dev/null", "401")):
                self.assertEqual(self.machine.run(
                    "alice", f"sed 's/^/Authorization: Bearer /' {token} | curl --silent --output answer --write-out '%{{http_code}}' -H @-"
                             f" -H 'Origin: https://{origin}.example' --json '{{}}' http://127.0.0.1:4711/rpc"), status)

    def test_each_recipe_is_run(self):
        self.assertEqual({block["name"] for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))},
                         {"one-user", "several", "same-rights", "network", "network-tokens", "page"})
        self.assertEqual(len(BLOCK.findall(PAGE.read_text(encoding="utf-8"))), PAGE.read_text(encoding="utf-8").count("<!-- recipe "))


if __name__ == "__main__":
    unittest.main()
