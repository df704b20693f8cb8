"""What the tests of this folder share: drivers from Maven's registry, and a PostgreSQL server of their own."""

import functools
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import ROOT

H2 = "com.h2database:h2:2.3.232"
SQLITE = ("org.xerial:sqlite-jdbc:3.46.1.3", "org.slf4j:slf4j-api:1.7.36")
POSTGRESQL = "org.postgresql:postgresql:42.7.4"
MARIADB = ("org.mariadb.jdbc:mariadb-java-client:3.5.1", "org.slf4j:slf4j-api:1.7.36")
MYSQL = "com.mysql:mysql-connector-j:8.4.0"
SECONDS = 60


@functools.cache
def jars(*libraries):
    """The paths of the libraries' jars, or a SkipTest where Maven cannot fetch them."""
    found = []
    for library in libraries:
        done = subprocess.run([ROOT / "tools/fetch-jar", library], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"{library} cannot be fetched: {done.stderr.strip()[-200:]}")
        found.append(done.stdout.strip())
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server of a database in a temporary folder, at a port of its own. It does not run as root: root starts it as
    nobody."""

    name = "server"

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix=f"jpeer-{self.name}-")
        self.folder = Path(self._folder.name)
        self.port = free_port()
        self._user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._process = None

    def run(self, *command):
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=SECONDS, **self._user)

    def start(self, *command):
        log = open(self.folder / "log", "wb")  # noqa: SIM115
        self._process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._user)
        log.close()
        end = time.monotonic() + SECONDS
        while not self.accepts():
            if self._process.poll() is not None or time.monotonic() > end:
                text = (self.folder / "log").read_text(errors="replace")
                self.close()
                raise AssertionError(f"{self.name} has not started: {text[-2000:]}")
            time.sleep(0.05)

    def accepts(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()


class PostgreSQL(Server):
    """Debian's postgresql. Its user is postgres, without a password."""

    name = "postgresql"

    def __init__(self):
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))
        if not versions:
            raise unittest.SkipTest("Debian's postgresql is not installed")
        super().__init__()
        data = self.folder / "data"
        self.run(versions[-1] / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        self.start(versions[-1] / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(self.port), "-k", self.folder, "-F")

    def accepts(self):
        ready = shutil.which("pg_isready")
        return subprocess.run([ready, "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode == 0

    @property
    def url(self):
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"


class MariaDB(Server):
    """Debian's mariadb-server. Its user is root, without a password."""

    name = "mariadb"

    def __init__(self):
        program = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
        if program is None:
            raise unittest.SkipTest("Debian's mariadb-server is not installed")
        super().__init__()
        data = f"--datadir={self.folder / 'data'}"
        self.run("mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db")
        self.start(program, "--no-defaults", data, f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.folder / 'socket'}",
                   "--skip-grant-tables", "--character-set-server=utf8mb4")

    @property
    def url(self):
        return f"jdbc:mariadb://127.0.0.1:{self.port}/tests?createDatabaseIfNotExist=true"


@functools.cache
def postgresql():
    """The server that all modules of a process share."""
    server = PostgreSQL()
    unittest.addModuleCleanup(postgresql.cache_clear)
    unittest.addModuleCleanup(server.close)
    return server
