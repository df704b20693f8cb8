"""The units in a booted Debian 12, and the image of packaging/container, with this build. Needs root.

usage: service.py [unittest's words]

A Debian with systemd is made and booted with systemd-nspawn; a script inside uses the units and writes what it sees.
The image is built and run by podman, with no image of others. Where the kernel or the sandbox forbids to boot or to run
a container, the tests are skipped and say why.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.bare_root import BareRoot  # noqa: E402
from support.peer import BUILD, FIXTURES, environment, eventually  # noqa: E402

SECONDS = 900
LINKED = ["libdeflate0", "libjansson4", "libssl3", "libwslay1", "libyaml-0-2", "libzip4", "libzmq5"]
POLICY = "version: 1\nrules:\n  - {class: '**', action: ALLOW}\n"
LIMIT = 10000
SECRET = "jp_" + "a" * 43

# Each step prints lines NAME=VALUE; a test reads them.
SCRIPT = textwrap.dedent(r"""
    #!/bin/bash
    exec >/root/seen 2>/root/seen.errors
    call() { jpeer call --url ws+unix:/run/jpeer/app/rpc.sock "$@" 2>&1 | head -n 1; }
    see() { systemctl show "jpeer@$2.service" -p "$3" --value | sed "s/^/$1=/"; }
    echo "booted=$(systemctl is-system-running --wait)"
    echo "start=$(systemctl start jpeer@app; echo $?)"
    see app.state app ActiveState; see app.status app StatusText
    echo "app.user=$(ps -o user:30= -p "$(systemctl show jpeer@app -p MainPID --value)")"
    echo "app.call=$(call 'fixtures.Calculator.add(1, 2)')"
    echo "app.socket=$(stat -c %a /run/jpeer/app/rpc.sock)"
    echo "app.write=$(call 'java.nio.file.Files.writeString(java.nio.file.Path.of("here"), "x")')"
    echo "app.home=$(call 'java.nio.file.Files.exists(java.nio.file.Path.of("/root/seen"))')"
    echo "app.here=$(ls /var/lib/jpeer/app | tr '\n' ' ')"
    echo "app.etc=$(call 'java.nio.file.Files.writeString(java.nio.file.Path.of("/etc/x"), "x")')"
    echo "app.key=$(call 'java.nio.file.Files.readString(java.nio.file.Path.of("/run/credentials/jpeer@app.service/key"))')"
    before=$(systemctl show jpeer@app -p MainPID --value)
    sed -i 's/ALLOW/DENY/' /etc/jpeer/app.policy.yaml
    echo "reload=$(systemctl reload jpeer@app; echo $?)"
    echo "reload.call=$(call 'fixtures.Calculator.add(1, 2)')"
    sed -i 's/DENY/ALLOW/' /etc/jpeer/app.policy.yaml; systemctl reload jpeer@app
    echo "reload.same=$([ "$before" = "$(systemctl show jpeer@app -p MainPID --value)" ] && echo yes)"
    systemctl stop jpeer@app
    see stop.result app Result; echo "stop.line=$(journalctl -u jpeer@app -o cat | grep 'the peer stops')"
    systemctl start jpeer@bad; sleep 4
    see bad.restarts bad NRestarts; see bad.status bad ExecMainStatus; see bad.text bad StatusText
    systemctl start jpeer@plain; systemctl reload jpeer@plain; see plain.state plain ActiveState; systemctl stop jpeer@plain
    systemctl start jpeer@sock.socket
    see sock.before sock ActiveState
    echo "sock.call=$(jpeer call --url ws+unix:/run/jpeer-sock.sock 'fixtures.Calculator.add(1, 2)' 2>&1)"
    see sock.after sock ActiveState
    old=$(systemctl show jpeer@sock -p MainPID --value)
    systemctl restart --no-block jpeer@sock; while kill -0 "$old" 2>/dev/null; do :; done
    echo "sock.restart=$(jpeer call --url ws+unix:/run/jpeer-sock.sock 'fixtures.Calculator.add(2, 2)' 2>&1)"
    systemctl start jpeer@stuck
    call_stuck() { jpeer call --url ws+unix:/run/jpeer/stuck/rpc.sock 'fixtures.Blockers.pass()'; }
    call_stuck >/dev/null 2>&1 &
    for _ in $(seq 150); do [ "$(systemctl show jpeer@stuck -p NRestarts --value)" = 1 ] && break; sleep 0.2; done
    see stuck.restarts stuck NRestarts
    echo "stuck.log=$(journalctl -u jpeer@stuck -o cat | tr '\n' '|')"
    systemctl poweroff
""").lstrip()


def conf(name, *lines):
    return "\n".join(["# made by tests/release/service.py", *lines, "-cp /opt/app/fixtures.jar", "--as-service", ""]).replace("NAME", name)


class Booted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "tools/install-packages", "systemd-container"], check=True)
        root = cls.enterClassContext(BareRoot(packages=["systemd", "systemd-sysv", "dbus", "libnss-systemd", "openjdk-17-jre-headless", "procps", *LINKED]))
        folder = root.folder
        subprocess.run(["cmake", "--install", BUILD, "--component", "program", "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": str(folder)})
        for each in ("etc/jpeer", "opt/app"):
            (folder / each).mkdir()
        shutil.copy(FIXTURES, folder / "opt/app/fixtures.jar")
        allow = "--rpc-default-action ALLOW"
        rpc = "--json-rpc unix:/run/jpeer/NAME/rpc.sock --allow-user root"
        files = {"app.conf": conf("app", rpc, "--rpc-policy /etc/jpeer/app.policy.yaml --rpc-policy-watch-interval 0"),
                 "app.policy.yaml": POLICY, "bad.conf": "--nonsense\n", "plain.conf": conf("plain", rpc, allow),
                 "sock.conf": conf("sock", "--json-rpc fd:rpc --allow-user root", allow),
                 "stuck.conf": conf("stuck", rpc, allow, "--busy-timeout 1s --rpc-threads 1 --rpc-threads-max 1"), "app.key": SECRET}
        for name, content in files.items():
            (folder / "etc/jpeer" / name).write_text(content, encoding="utf-8")
        os.chmod(folder / "etc/jpeer/app.key", 0o600)
        system = folder / "etc/systemd/system"
        for name, setting in (("app", "LoadCredential=key:/etc/jpeer/app.key"), ("stuck", "WatchdogSec=3s")):
            (system / f"jpeer@{name}.service.d").mkdir()
            (system / f"jpeer@{name}.service.d/test.conf").write_text(f"[Service]\n{setting}\n", encoding="ascii")
        script = folder / "root/script"
        script.write_text(SCRIPT, encoding="utf-8")
        script.chmod(0o755)
        (system / "script.service").write_text("[Service]\nType=exec\nExecStart=/root/script\n", encoding="ascii")
        (system / "multi-user.target.wants").mkdir(exist_ok=True)
        (system / "multi-user.target.wants/script.service").symlink_to("../script.service")
        subprocess.run(["umount", folder / "proc", folder / "dev/shm"], check=True)
        try:
            done = subprocess.run(["systemd-nspawn", "--register=no", "--keep-unit", "--console=pipe", "--boot", "--directory", folder], check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=SECONDS)
        finally:
            subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder / "dev/shm"], check=True)
        if not (folder / "root/seen").exists():
            raise unittest.SkipTest(f"no systemd could be booted here: {(done.stdout + done.stderr)[-500:]}")
        lines = (folder / "root/seen").read_text(encoding="utf-8", errors="replace").splitlines()
        cls.seen = dict(line.split("=", 1) for line in lines)
        print(f"service: {len(cls.seen)} facts from a booted systemd", flush=True)

    def test_the_service_starts_serves_and_stops(self):
        seen = self.seen
        self.assertEqual((seen["start"], seen["app.state"], seen["app.user"], seen["app.call"]), ("0", "active", "jpeer-app", "3"), seen)
        self.assertIn("serves ws+unix:/run/jpeer/app/rpc.sock", seen["app.status"])
        self.assertEqual((seen["app.socket"], seen["stop.result"]), ("666", "success"))
        self.assertIn("SIGTERM from process 1 of user 0", seen["stop.line"])

    def test_its_rights(self):
        self.assertEqual((self.seen["app.here"], self.seen["app.home"]), ("here ", "false"), self.seen)
        self.assertIn("ReadOnlyFileSystemException" if "ReadOnly" in self.seen["app.etc"] else "FileSystemException", self.seen["app.etc"])
        self.assertIn("Read-only file system", self.seen["app.etc"])
        self.assertEqual(self.seen["app.key"], SECRET)

    def test_reload(self):
        self.assertEqual((self.seen["reload"], self.seen["reload.same"], self.seen["plain.state"]), ("0", "yes", "active"), self.seen)
        self.assertIn("RPC access denied", self.seen["reload.call"])

    def test_a_wrong_option_is_not_tried_again(self):
        self.assertEqual((self.seen["bad.restarts"], self.seen["bad.status"]), ("0", "2"), self.seen)
        self.assertIn("unknown option", self.seen["bad.text"])

    def test_socket_activation(self):
        seen = [self.seen[f"sock.{name}"] for name in ("before", "call", "after", "restart")]
        self.assertEqual(seen, ["inactive", "3", "active", "4"], self.seen)

    def test_the_watchdog(self):
        self.assertEqual(self.seen["stuck.restarts"], "1", self.seen)
        self.assertRegex(self.seen["stuck.log"], r"watchdog gets no beat.*Watchdog timeout.*the peer ends: SIGABRT from process 1 of user 0")


class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "tools/install-packages", "mmdebstrap", "podman", "runc"], check=True)
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-container-", ignore_cleanup_errors=True)))
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", "--one-file-system", cls.folder], check=False)
        shutil.copy(ROOT / "packaging/container/Containerfile", cls.folder)
        made = subprocess.run([ROOT / "packaging/container/make-root", BUILD, cls.folder / "root"], check=False, capture_output=True, text=True,
                              timeout=SECONDS, umask=0o077)
        assert made.returncode == 0, made.stderr[-3000:]
        print(f"service: {made.stdout.strip()}", flush=True)
        cls.command = ["podman", "--root", cls.folder / "storage", "--runroot", cls.folder / "run", "--cgroup-manager=cgroupfs", "--runtime=runc"]
        built = cls.podman("build", "--isolation=chroot", "--format", "docker", "-t", "jpeer", cls.folder)
        assert built.returncode == 0, built.stderr[-3000:]
        cls.addClassCleanup(cls.podman, "system", "reset", "--force")
        # Podman's own limits are higher than what a sandbox may set.
        limits = [f"--ulimit={name}={LIMIT}:{LIMIT}" for name in ("nofile", "nproc")]
        cls.run_words = ["run", "--detach", *limits, "--network=none", "--no-healthcheck", "--cap-drop=all", "--read-only"]
        tried = cls.podman(*cls.run_words, "--rm", "jpeer", "--version")
        if tried.returncode != 0:
            raise unittest.SkipTest(f"no container can be run here: {tried.stderr[-500:]}")

    @classmethod
    def podman(cls, *words):
        return subprocess.run([*cls.command, *map(str, words)], check=False, capture_output=True, text=True, timeout=SECONDS)

    def start(self, *words):
        begun = self.podman(*self.run_words, "--volume", f"{FIXTURES}:/app/app.jar:ro", "jpeer", "--rpc-default-action", "ALLOW", *words,
                            "-cp", "/app/app.jar", "--as-service")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        name = begun.stdout.strip()
        self.addCleanup(self.podman, "rm", "--force", "--time", "0", name)
        return name

    def inside(self, name, *words):
        return self.podman("exec", name, *words)

    def test_the_image_describes_itself(self):
        image, = json.loads(self.podman("image", "inspect", "jpeer").stdout)
        self.assertEqual(image["Config"]["User"], "911:911")
        self.assertEqual(image["Healthcheck"]["Test"][:3], ["CMD", "/usr/bin/jpeer", "ping"])

    def test_serves_a_mounted_jar_as_a_user_without_rights(self):
        name = self.start()
        image, = json.loads(self.podman("image", "inspect", "jpeer").stdout)
        eventually(lambda: self.inside(name, *image["Healthcheck"]["Test"][1:]).returncode == 0, "the health check is good")
        called = self.inside(name, "jpeer", "call", "--url", "ws+unix:/tmp/health.sock", "fixtures.Calculator.add(1, 2)")
        self.assertEqual(called.stdout, "3\n", called.stderr)
        self.assertIn("uid=911(jpeer) gid=911(jpeer)", self.inside(name, "id").stdout)
        self.assertEqual(self.inside(name, "sh", "-c", "grep CapBnd /proc/1/status").stdout.split()[1], "0" * 16)
        begun = time.monotonic()
        self.podman("stop", "--time", "60", name)
        self.assertLess(time.monotonic() - begun, 30)
        self.assertIn("the peer stops: SIGTERM", self.podman("logs", name).stderr)
        self.assertEqual(self.podman("inspect", name, "--format", "{{.State.ExitCode}}").stdout.strip(), "0")

    def test_term_ends_it_while_it_starts(self):
        for ms in (*range(0, 60, 6), *range(60, 600, 60)):
            with self.subTest(ms=ms):
                name = self.start()
                time.sleep(ms / 1000)
                self.assertEqual(self.podman("stop", "--time", "60", name).returncode, 0)
                status = int(self.podman("inspect", name, "--format", "{{.State.ExitCode}}").stdout)
                self.assertIn(status, (0, 128 + signal.SIGTERM))


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise SystemExit("service: needs root")
    unittest.main(verbosity=2)
