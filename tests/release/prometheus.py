#!/usr/bin/python3
"""A real Prometheus scrapes a peer under load: its figures are those of the clients' own counts, and each panel of
docs/grafana-dashboard.json has data. Needs Debian's package prometheus; nothing is started as a service.

usage: prometheus.py [--seconds N]"""

import argparse
import collections
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.callback_client import UnixCallbackClient  # noqa: E402  (the folder of the tests' own modules comes first)
from support.clients import RpcError, ShmClient, UnixHttpClient, UnixWebSocketClient, UnixZmqClient  # noqa: E402
from support.metrics import scrape  # noqa: E402
from support.peer import BINARY, Peer, eventually  # noqa: E402

KINDS = (UnixWebSocketClient, UnixHttpClient, UnixZmqClient, ShmClient)
INTERVAL = 1  # seconds between two scrapes
COMMANDS = ("prometheus", "promtool")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


class Prometheus:
    def __init__(self, folder, peer, token_file):
        self.address = f"127.0.0.1:{free_port()}"
        target = urllib.parse.urlsplit(peer.facts["metrics"][0]).netloc
        config = folder / "prometheus.yml"
        config.write_text(f"""global: {{scrape_interval: {INTERVAL}s, scrape_timeout: {INTERVAL}s}}
scrape_configs:
  - job_name: jpeer
    authorization: {{credentials_file: {token_file}}}
    static_configs: [{{targets: ["{target}"]}}]
""", encoding="utf-8")
        subprocess.run(["promtool", "check", "config", config], check=True, stdout=subprocess.DEVNULL)
        self.log = open(folder / "prometheus.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address={self.address}"], stdout=self.log, stderr=self.log)

    def query(self, expression):
        """The samples of an instant query: the labels and the number of each."""
        query = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/query?{query}", timeout=30) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 503:
                raise ConnectionError("Prometheus starts") from None
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        return [(sample["metric"], float(sample["value"][1])) for sample in answer["data"]["result"]]

    def is_up(self):
        try:
            return self.query("up") and self.query("up")[0][1] == 1
        except OSError:
            assert self.process.poll() is None, Path(self.log.name).read_text(encoding="utf-8")
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


class Load:
    """A client of each transport, which counts what it has done until the time is over."""

    def __init__(self, peer, seconds):
        self.counts = collections.Counter()  # by method and outcome
        self.messages = 0
        self.lock = threading.Lock()
        self.until = time.monotonic() + seconds
        self.threads = [threading.Thread(target=self.run, args=(kind(peer),)) for kind in KINDS]
        for thread in self.threads:
            thread.start()

    def run(self, client):
        counts = collections.Counter()
        with client:
            while time.monotonic() < self.until:
                for number in range(10):
                    client.call("java.lang.Math", "addExact", number, 1)
                counts["call", "ok"] += 10
                for outcome, arguments in (("exception", ("java.lang.Integer", "parseInt", "x")),
                                           ("denied", ("java.lang.Runtime", "getRuntime")),
                                           ("not_found", ("java.lang.Math", "nothing"))):
                    try:
                        client.call(*arguments)
                        raise AssertionError(arguments)
                    except RpcError:
                        counts["call", outcome] += 1
                counts["new", "ok"] += 1
                ref = client.new("java.util.ArrayList")
                client.control("delete_object", {"ref": ref})
                counts["control", "ok"] += 1
        with self.lock:
            self.counts.update(counts)
            self.messages += sum(counts.values())

    def join(self):
        for thread in self.threads:
            thread.join()


def make_callbacks(peer, stop):
    with UnixCallbackClient(peer) as client:
        while not stop.wait(0.2):
            client.call("fixtures.Calling", "here", client.give(lambda call: "x"))


def check_counts(prometheus, load):
    def seen():
        return {(labels["method"], labels["outcome"]): number for labels, number in
                prometheus.query("sum by (method, outcome) (jpeer_requests_total) > 0")}
    eventually(lambda: seen() == load.counts, lambda: f"Prometheus {seen()}, the clients {dict(load.counts)}")
    messages = [number for _, number in prometheus.query("jpeer_message_duration_seconds_count")]
    assert messages == [load.messages], (messages, load.messages)
    print(f"counts: {load.messages} messages of {len(KINDS)} transports, all as the clients have counted: {dict(load.counts)}")


def check_scrapes(prometheus, seconds):
    (_, slowest), = prometheus.query(f"max_over_time(scrape_duration_seconds[{seconds}s])")
    (_, failed), = prometheus.query(f"sum_over_time((1 - up)[{seconds}s:{INTERVAL}s])")
    (_, usual), = prometheus.query(f"quantile_over_time(0.5, scrape_duration_seconds[{seconds}s])")
    assert failed == 0, f"{failed} scrapes have failed"
    assert usual < 0.1, f"a scrape takes {usual} s"
    print(f"scrapes: none has failed, the median took {1000 * usual:.1f} ms, the slowest {1000 * slowest:.1f} ms")


def check_panels(prometheus):
    dashboard = json.loads((ROOT / "docs/grafana-dashboard.json").read_text(encoding="utf-8"))
    expressions = 0
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "30s").replace("$instance", ".*").replace("$job", ".*")
            assert "$" not in expression, expression
            found = prometheus.query(expression)
            assert any(math.isfinite(number) for _, number in found), f"{panel['title']}: {expression} gives {found}"
            expressions += 1
    variables = [entry for entry in dashboard["templating"]["list"] if entry["type"] == "query"]
    assert len(variables) == 2 and prometheus.query("jpeer_threads_max")[0][0].keys() >= {"job", "instance"}
    print(f"dashboard: {len(dashboard['panels'])} panels, {expressions} expressions with data")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1], description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=30)
    arguments = parser.parse_args()
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    if missing:
        print(f"SKIPPED: there is no {' and no '.join(missing)} (Debian: prometheus)")
        return
    with tempfile.TemporaryDirectory(prefix="jpeer-prometheus-") as name:
        folder = Path(name)
        token_file, people = folder / "token", folder / "people.yaml"
        made = subprocess.run([BINARY, "token", "new", "prometheus"], check=True, capture_output=True, text=True).stdout.split()
        token_file.write_text(next(word for word in made if word.startswith("jp_")), encoding="utf-8")
        hashed = next(word.strip('"') for word in made if "sha256:" in word)
        people.write_text(f"""principals:
  - {{name: prometheus, tokens: ["{hashed}"], metrics: true}}
  - {{name: load, unix-users: [{os.getuid()}], allow: ["fixtures.**", "jdk:java.lang.Math", "jdk:java.lang.Integer", "jdk:java.util.ArrayList",
            "jdk:java.util.concurrent.Callable"]}}
""", encoding="utf-8")
        people.chmod(0o600)
        with Peer("--principals", people, "--metrics-listen", "auto", addresses=False, sockets=True, allow=False) as peer:
            prometheus = Prometheus(folder, peer, token_file)
            try:
                eventually(prometheus.is_up, "Prometheus scrapes the peer")
                subprocess.run(["promtool", "check", "metrics"], check=True, text=True, input=scrape(peer, {
                    "Authorization": "Bearer " + token_file.read_text(encoding="utf-8")}))
                load = Load(peer, arguments.seconds)
                load.join()
                check_counts(prometheus, load)
                check_scrapes(prometheus, arguments.seconds)
                stop = threading.Event()
                with ThreadPoolExecutor(1) as pool:
                    calling = pool.submit(make_callbacks, peer, stop)
                    eventually(lambda: calling.done() or prometheus.query("rate(jpeer_callbacks_total[30s]) > 0"),
                               "callbacks are counted")
                    check_panels(prometheus)
                    stop.set()
                    calling.result()
            finally:
                prometheus.stop()


if __name__ == "__main__":
    main()
