"""A Debian with only its base system in a temporary folder, for tests that install packages. Needs root and the network."""

import contextlib
import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SECONDS = 900
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class BareRoot:
    """`folder` is its root. What the network of this machine needs (name lookup, apt's settings, certificates) is copied."""

    def __init__(self, suite="bookworm", packages=()):
        self.stack = contextlib.ExitStack()
        self.suite, self.packages = suite, packages

    def __enter__(self):
        subprocess.run([Path(__file__).parents[2] / "tools/install-packages", "mmdebstrap"], check=True)
        self.folder = Path(tempfile.mkdtemp(prefix="jpeer-root-"))
        self.stack.callback(subprocess.run, ["rm", "-rf", "--one-file-system", self.folder], check=True)
        policy = subprocess.run(["apt-cache", "policy", "base-files"], stdout=subprocess.PIPE, text=True, check=True).stdout
        mirror = next(word for line in policy.splitlines() if "bookworm/main" in line for word in line.split() if word.startswith("http"))
        try:
            done = subprocess.run(["mmdebstrap", "--variant=apt", "--mode=root", f"--include=ca-certificates,{','.join(self.packages)}".rstrip(","),
                                   self.suite, self.folder, mirror], capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode != 0:
                raise SystemExit(f"mmdebstrap failed:\n{done.stderr[-3000:]}")
            for file in ("/etc/hosts", "/etc/resolv.conf"):
                shutil.copy(file, self.folder / "etc")
            certificates = glob.glob("/usr/local/share/ca-certificates/*.crt")
            for file in certificates:
                shutil.copy(file, self.folder / "usr/local/share/ca-certificates")
            proxies = subprocess.run(["apt-config", "dump", "Acquire"], stdout=subprocess.PIPE, text=True, check=True).stdout
            (self.folder / "etc/apt/apt.conf.d/90this-machine").write_text(proxies, encoding="utf-8")
            for kind, place in (("proc", "proc"), ("tmpfs", "dev/shm")):
                subprocess.run(["mount", "-t", kind, kind, self.folder / place], check=True)
                self.stack.callback(subprocess.run, ["umount", self.folder / place], check=True)
            if certificates:
                self.run("update-ca-certificates")
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *error):
        self.stack.close()

    def command(self, *words, **environment):
        variables = {"HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **environment}
        return ["chroot", self.folder, "env", "-i", *(f"{name}={value}" for name, value in variables.items()), *map(str, words)]

    def run(self, *words, **environment):
        """Runs a command inside that must succeed, and returns its output."""
        done = subprocess.run(self.command(*words, **environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
        assert done.returncode == 0, f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout[-4000:]}"
        return done.stdout

    def install(self, *packages):
        """Names of packages, or files that begin with a slash."""
        self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)

    def files(self):
        """What is there, except what running programs, dpkg and systemd leave behind, and what the test has put into /opt."""
        passing = ("proc/", "dev/", "sys/", "tmp/", "run/", "opt/", "var/cache/", "var/log/", "var/lib/dpkg/", "var/lib/apt/",
                   "etc/ld.so.cache", "root/.cache")
        found = set()
        for folder, folders, names in os.walk(self.folder):
            inside = os.path.relpath(folder, self.folder)
            found |= {os.path.normpath(os.path.join(inside, name)) for name in [*folders, *names]}
        return {path for path in found if not path.startswith(passing)} - {"var/lib/private"}  # systemd's
