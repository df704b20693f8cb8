"""What an operator sees over HTTP: GET /healthz and GET /metrics. The figures are held against what the clients have done."""

import collections
import contextlib
import json
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from support.binary_client import BinaryClient
from support.callback_client import CallbackClient
from support.clients import (HttpClient, RpcError, ShmClient, UnixHttpClient, UnixWebSocketClient, UnixZmqClient,
                             WebSocketClient, ZmqClient, await_running, leave)
from support.metrics import ask, figures, of, place_of, scrape
from support.peer import ROOT, Peer, eventually
from support.peer_case import CALLING, PeerCase, allow, deny
from support.principals import ALICE, BOB, CAROL, Principals, bearer, digest

QUICK = 0.05  # seconds of an answer, also while every thread is inside Java
PROMTOOL = shutil.which("promtool")
BLOCK = '{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Blockers","method":"%s"}}'


def requests(before, after):
    """How many requests were counted in between, by method and outcome."""
    name = re.compile(r'jpeer_requests_total\{method="(.*)",outcome="(.*)"\}')
    counted = {name.match(key).groups(): after[key] - before[key] for key in after if name.match(key)}
    return {key: number for key, number in counted.items() if number}


def health(peer_or_place):
    place = peer_or_place if isinstance(peer_or_place, str) else place_of(peer_or_place)
    return ask(place, "/healthz")[0]


def quickest(action, attempts=20):
    """The shortest of several times, because others use the machine, too."""
    times = []
    for _ in range(attempts):
        begun = time.monotonic()
        action()
        times.append(time.monotonic() - begun)
        if times[-1] < QUICK:
            break
    return min(times)


class Figures(PeerCase):
    maxDiff = None
    options = ()
    rules = deny("java.lang.Runtime") + allow("**")
    peer_arguments = {"sockets": True}

    def growth(self, name, action, **labels):
        before = figures(self.peer)[of(name, **labels)]
        action()
        return figures(self.peer)[of(name, **labels)] - before

    def figure(self, name, **labels):
        return figures(self.peer)[of(name, **labels)]

    def test_requests_by_method_and_outcome_on_each_transport(self):
        self.addCleanup(setattr, self, "_client_name", "")
        for kind in (WebSocketClient, HttpClient, ZmqClient, UnixWebSocketClient, UnixHttpClient, UnixZmqClient, ShmClient):
            with self.subTest(kind=kind.name), kind(self.peer) as client:
                before = figures(self.peer)
                wanted = collections.Counter()

                def fails(outcome, action, *args, method="call"):
                    with self.assertRaises(RpcError):
                        action(*args)
                    wanted[method, outcome] += 1
                for number in range(20):  # most of them on the fast path
                    self.assertEqual(client.call("fixtures.Calculator", "add", number, 2), str(number + 2))
                wanted["call", "ok"] += 20
                for _ in range(3):
                    fails("exception", client.call, "java.lang.Math", "addExact", 2147483647, 1)
                fails("exception", client.call, "java.lang.Integer", "parseInt", "x")
                fails("denied", client.call, "java.lang.Runtime", "getRuntime")
                fails("not_found", client.call, "fixtures.NoSuchClass", "x")
                fails("not_found", client.get, "java.lang.Math", "NO_SUCH", method="get")
                fails("invalid", client.value, "call", {"type": 1}, method="call")
                fails("invalid", client.value, "new", {}, method="new")
                fails("invalid", client.value, "nosuch", {}, method="other")
                ref = client.new("java.util.ArrayList")
                client.call("java.util.ArrayList", "size", on=ref)
                client.get("java.lang.Integer", "MAX_VALUE")
                client.control("ping")
                client.request("jpeer.describe", {"type": "java.lang.Math"})
                client.request("rpc.discover")
                client.request("java.lang.Math.abs", [-3])
                wanted.update({("new", "ok"): 1, ("call", "ok"): 2, ("get", "ok"): 1, ("control", "ok"): 1,
                               ("jpeer.describe", "ok"): 1, ("rpc.discover", "ok"): 1})
                batch = [{"jsonrpc": "2.0", "id": number, "method": "call", "params": {
                    "type": "java.lang.Math", "method": "addExact", "args": [number, 2147483646]}} for number in range(4)]
                self.assertEqual(len(json.loads(client.exchange(json.dumps([*batch, 7])))), 5)
                wanted.update({("call", "ok"): 2, ("call", "exception"): 2, ("other", "invalid"): 1})
                self.assertEqual(json.loads(client.exchange("{"))["error"]["code"], -32700)
                wanted["other", "invalid"] += 1
                self.assertEqual(requests(before, figures(self.peer)), dict(wanted))

    def test_notifications_and_timeouts(self):
        client = self.connect()
        before = figures(self.peer)
        note = {"jsonrpc": "2.0", "method": "call", "params": {"type": "java.lang.Math", "method": "abs", "args": [1]}}
        for _ in range(5):
            self.assertIsNone(client.exchange_or_nothing(json.dumps(note)))
        slow = {"type": "java.lang.Thread", "method": "sleep", "args": [60000]}
        self.assertEqual(client.request("call", slow, options={"timeout": 20})["error"]["data"]["reason"], "timeout")
        wanted = {("call", "ok"): 5, ("control", "ok"): 5, ("call", "timeout"): 1}
        eventually(lambda: requests(before, figures(self.peer)) == wanted,  # its thread may return after the answer
                   lambda: requests(before, figures(self.peer)))

    def test_calls_whose_time_is_over_before_their_turn(self):
        sleep = {"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"type": "java.lang.Thread", "method": "sleep",
                                                                        "args": [300]}}
        for kind in (WebSocketClient, ZmqClient, ShmClient):
            with self.subTest(kind=kind.name), kind(self.peer) as client:
                before = figures(self.peer)
                client.send(json.dumps(sleep))
                for number in range(3):
                    client.send(json.dumps({**sleep, "id": number, "options": {"timeout": 20}}))
                for _ in range(4):
                    client.receive()
                wanted = {("call", "ok"): 1, ("call", "timeout"): 3}
                eventually(lambda: requests(before, figures(self.peer)) == wanted, lambda: requests(before, figures(self.peer)))

    def test_a_call_whose_client_has_left_is_cancelled(self):
        for kind in (WebSocketClient, ShmClient):
            with self.subTest(kind=kind.name):
                before, client = figures(self.peer), kind(self.peer)
                client.send(BLOCK % "pass")
                await_running(self.connect(), 1)
                leave(client)
                eventually(lambda: requests(before, figures(self.peer)).get(("call", "cancelled")) == 1,
                           lambda: requests(before, figures(self.peer)))

    def test_the_start_of_the_process_never_changes(self):
        self.assertEqual(len({self.figure("process_start_time_seconds") for _ in range(100)}), 1)

    def test_binary_requests(self):
        before = figures(self.peer)
        with BinaryClient(self.peer) as client:
            for number in range(20):
                client.call("fixtures.Calculator", "add", number, 2)
            self.raised_by(lambda: client.call("java.lang.Integer", "parseInt", "x"))
            self.raised_by(lambda: client.call("fixtures.NoSuchClass", "x"))
            client.control("ping")
        self.assertEqual(requests(before, figures(self.peer)), {
            ("call", "ok"): 20, ("call", "exception"): 1, ("call", "not_found"): 1, ("control", "ok"): 1})

    def test_the_latency_of_each_message_counts_once(self):
        for kind in (WebSocketClient, HttpClient, ZmqClient, ShmClient):
            with self.subTest(kind=kind.name), kind(self.peer) as client:
                name = "jpeer_message_duration_seconds"
                before = figures(self.peer)
                for _ in range(100):
                    client.call("fixtures.Calculator", "add", 1, 2)
                client.call("java.lang.Thread", "sleep", 300)
                eventually(lambda: self.figure(f"{name}_count") - before[f"{name}_count"] == 101)
                after = figures(self.peer)
                slow = after[of(f"{name}_bucket", le="0.524288")] - after[of(f"{name}_bucket", le="0.262144")]
                was_slow = before[of(f"{name}_bucket", le="0.524288")] - before[of(f"{name}_bucket", le="0.262144")]
                self.assertGreaterEqual(slow - was_slow, 1)
                spent = after[f"{name}_sum"] - before[f"{name}_sum"]
                self.assertTrue(0.3 <= spent < 30, spent)

    def test_many_requests_in_flight_have_latencies_of_their_own(self):
        """Quick messages share a read of the clock."""
        client = self.connect()
        name = "jpeer_message_duration_seconds_count"
        before = self.figure(name)
        for _ in range(500):
            client.send(BLOCK % "running")
        for _ in range(500):
            client.receive()
        eventually(lambda: self.figure(name) - before == 500, lambda: self.figure(name) - before)

    def test_connections_sessions_and_refs(self):
        before = figures(self.peer)

        def grown(name, **labels):
            return self.figure(name, **labels) - before[of(name, **labels)]
        with (self.peer_clients(WebSocketClient, 3) as sockets, self.peer_clients(ShmClient, 2) as shared,
              self.peer_clients(HttpClient, 1) as plain):
            plain[0].control("ping")
            for client in sockets + shared:
                for _ in range(10):
                    client.new("java.util.ArrayList")
            self.assertEqual(grown("jpeer_connections", transport="websocket"), 3)
            self.assertEqual(grown("jpeer_connections", transport="shm"), 2)
            # The connection of the scrape before may not have ended yet.
            eventually(lambda: grown("jpeer_connections", transport="http") == 1)
            self.assertEqual(grown("jpeer_sessions"), 5)
            self.assertEqual(grown("jpeer_refs"), 50)
            self.assertGreater(grown("jpeer_shm_bytes"), 2 << 20)
            sockets[0].control("delete_session")
            self.assertEqual(grown("jpeer_refs"), 40)
        eventually(lambda: grown("jpeer_refs") == 0 and grown("jpeer_sessions") == 0)
        eventually(lambda: all(grown("jpeer_connections", transport=word) == 0 for word in ("websocket", "shm", "http")))

    @contextlib.contextmanager
    def peer_clients(self, kind, count):
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(kind(self.peer)) for _ in range(count)]

    def test_callbacks(self):
        client = self.connect(CallbackClient)
        before = figures(self.peer)
        begun = client.begin_call(CALLING, "here", client.give())
        call = client.await_call()
        self.assertEqual(self.figure("jpeer_callbacks_open") - before["jpeer_callbacks_open"], 1)
        eventually(lambda: self.figure("jpeer_threads", state="waiting") == 1)  # the thread has sent the call before it waits
        call.answer("done")
        client.end(begun)
        self.assertEqual(self.figure("jpeer_callbacks_total") - before["jpeer_callbacks_total"], 1)
        eventually(lambda: self.figure("jpeer_callbacks_open") == before["jpeer_callbacks_open"])

    def test_requests_that_are_refused_beside_a_callback(self):
        client = self.connect(CallbackClient)
        before = figures(self.peer)
        client.begin_call(CALLING, "here", client.give())
        nested = {"jsonrpc": "2.0", "id": 77, "method": "get", "params": {"type": "java.lang.Integer", "field": "MAX_VALUE"}}
        call = client.await_call()
        client.send_json({**nested, "options": {"within": "cb-99999"}})
        client.send_json([nested, {"jsonrpc": "2.0", "id": call.id, "result": 5}])
        client.receive()  # the refusal of the batch, for which the call's end does not wait
        wanted = {("get", "invalid"): 2, ("other", "invalid"): 1}
        eventually(lambda: wanted.items() <= requests(before, figures(self.peer)).items(),
                   lambda: requests(before, figures(self.peer)))
        client.send_json({**nested, "options": {"unknown": 1}})
        eventually(lambda: requests(before, figures(self.peer))["get", "invalid"] == 3)

    def test_threads(self):
        steering, pinned = self.connect(), self.connect()
        pinned.control("pin_thread")
        self.assertEqual(self.figure("jpeer_threads", state="pinned"), 1)
        slow = [self.connect() for _ in range(3)]
        for client in slow:
            client.send(BLOCK % "pass")
        await_running(steering, 3)
        self.assertGreaterEqual(self.figure("jpeer_threads", state="busy"), 3)
        steering.call("fixtures.Blockers", "open")
        for client in slow:
            client.receive()
        eventually(lambda: self.figure("jpeer_threads", state="busy") <= 1)  # of the request itself

    def test_lost_threads(self):
        client, steering = self.connect(), self.connect()
        stubborn = {"type": "fixtures.Blockers", "method": "passStubbornly"}
        self.assertIn("error", client.request("call", stubborn, options={"timeout": 20}))
        eventually(lambda: self.figure("jpeer_lost_threads") == 1)
        steering.call("fixtures.Blockers", "open")
        eventually(lambda: self.figure("jpeer_lost_threads") == 0)

    def test_input_that_waits(self):
        url = urlsplit(self.peer.address("http"))
        half = 1 << 20
        with socket.create_connection((url.hostname, url.port)) as sender:
            sender.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % (2 * half) + bytes(half))
            eventually(lambda: self.figure("jpeer_input_bytes") >= half)
        eventually(lambda: self.figure("jpeer_input_bytes") == 0)

    def test_the_jvm(self):
        eventually(lambda: "jpeer_jvm_threads" in figures(self.peer))  # the first read loads the classes of the beans
        seen = figures(self.peer)
        self.assertLessEqual(seen["jpeer_jvm_heap_used_bytes"], seen["jpeer_jvm_heap_committed_bytes"])
        self.assertLessEqual(seen["jpeer_jvm_heap_committed_bytes"], seen["jpeer_jvm_heap_max_bytes"])
        self.assertGreater(seen["jpeer_jvm_threads"], 3)
        self.connect().control("gc")
        eventually(lambda: self.figure("jpeer_jvm_gc_collections_total") > seen["jpeer_jvm_gc_collections_total"])
        self.assertGreater(self.figure("jpeer_jvm_gc_seconds_total"), 0)
        self.assertLess(abs(seen["process_start_time_seconds"] - Path(f"/proc/{self.peer.pid}").stat().st_ctime), 60)
        self.assertLess(abs(seen["process_resident_memory_bytes"] / 1024 - self.peer.resident_kib()), 100 * 1024)

    def test_refusals(self):
        place = self.peer.address("http")
        json_type = {"Content-Type": "application/json"}
        self.assertEqual(self.growth("jpeer_refusals_total", lambda: ask(place, "/rpc", "POST", {
            **json_type, "Origin": "http://evil.test"}, "{}"), reason="foreign_page"), 1)
        self.assertEqual(self.growth("jpeer_refusals_total", lambda: ask(place, "/rpc", "POST", {
            **json_type, "Content-Length": str(65 << 30)}, ""), reason="too_long"), 1)
        self.assertEqual(self.growth("jpeer_refusals_total", lambda: ask(place, headers={"X": "y" * 100_000}), reason="too_long"), 1)

    def test_no_text_of_a_client_is_on_the_page(self):
        text = "x" + "7" * 20
        with HttpClient(self.peer) as client:
            for method in (text, f"jpeer.{text}", f"{text}.a", "call"):
                client.request(method, {"type": text, "method": text})
            ask(self.peer.address("http"), f"/rpc/{text}")
            client.call("java.lang.String", "valueOf", text)
        self.assertNotIn(text, scrape(self.peer))

    def test_the_page(self):
        place = self.peer.address("http")
        status, headers, text = ask(place)
        self.assertEqual((status, headers["Content-Type"], headers["Cache-Control"]),
                         (200, "text/plain; version=0.0.4; charset=utf-8", "no-store"))
        self.assertEqual(ask(place, method="HEAD")[0::2], (200, ""))
        for method in ("POST", "PUT", "DELETE"):
            for path in ("/metrics", "/healthz"):
                status, headers, _ = ask(place, path, method)
                self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD, OPTIONS"))
        self.assertEqual(ask(place, headers={"Sec-Fetch-Site": "cross-site"})[0], 403)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) )?(jpeer|process)_")

    def test_the_page_of_operations_has_the_same_table(self):
        page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \| (.*) \|$", page, re.M)
        eventually(lambda: "jpeer_jvm_threads" in figures(self.peer))
        text = scrape(self.peer)
        types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
        self.assertEqual(rows, [(name, types[name], help_text)
                                for name, help_text in re.findall(r"^# HELP (\w+) (.*)$", text, re.M)])
        words = {label: list(dict.fromkeys(re.findall(rf'\b{label}="([^"]*)"', text)))
                 for label in ("method", "outcome", "reason", "transport", "state")}
        for label, found in words.items():
            with self.subTest(label=label):
                listed = re.search(rf"^- `{label}`: (.*(?:\n  .*)*)", page, re.M)[1]
                self.assertEqual(re.findall(r"`([^`]+)`", listed), found)

    @unittest.skipIf(PROMTOOL is None, "promtool is not installed (Debian: prometheus)")
    def test_promtool_has_no_complaint(self):
        eventually(lambda: "jpeer_jvm_threads" in figures(self.peer))
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=scrape(self.peer), capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Health(PeerCase):
    def test_it_says_nothing_else(self):
        status, headers, text = ask(self.start().address("http"), "/healthz")
        self.assertEqual((status, text), (200, "ok\n"))
        self.assertEqual(sorted(headers), ["Cache-Control", "Content-Length", "Content-Type"])
        self.assertEqual(ask(self.peer.address("http"), "/healthz", "HEAD")[0::2], (200, ""))

    def test_while_every_thread_is_inside_java(self):
        for more in ((), ("--metrics-listen", "auto")):
            with self.subTest(more=more):
                peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "2", "--busy-timeout", "500ms", *more)
                eventually(lambda: "jpeer_jvm_threads" in figures(peer))
                slow = [self.connect() for _ in range(2)]
                for client in slow:
                    client.send(BLOCK % "pass")
                eventually(lambda: figures(peer)[of("jpeer_threads", state="busy")] == 2)
                eventually(lambda: health(peer) == 503)
                self.assertEqual(ask(place_of(peer), "/healthz")[2], "unavailable\n")
                self.assertLess(quickest(lambda: health(peer)), QUICK)
                self.assertLess(quickest(lambda: figures(peer)), QUICK)
                waiting = self.connect(HttpClient)
                self.assertIn("busy", waiting.request("call", {"type": "fixtures.Blockers", "method": "open"})
                              ["error"]["data"]["message"])
                self.assertEqual(figures(peer)[of("jpeer_refusals_total", reason="busy")], 1)
                for client in slow:
                    leave(client)
                eventually(lambda: health(peer) == 200)

    def test_short_calls_of_all_threads_are_no_reason(self):
        peer = self.start("--rpc-threads", "1", "--rpc-threads-max", "1", "--busy-timeout", "1s")
        client = self.connect()
        for _ in range(12):
            client.send('{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"java.lang.Thread","method":"sleep",'
                        '"args":[150]}}')
        seen = set()
        for _ in range(12):
            client.receive()
            seen.add(health(peer))
        self.assertEqual(seen, {200})

    def test_while_the_peer_starts(self):
        """A debugger that has not come yet keeps the JVM from its start."""
        for has_own in (True, False):
            with self.subTest(has_own=has_own), ThreadPoolExecutor(2) as pool:
                folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-start-")))
                with socket.create_server(("127.0.0.1", 0)) as debugger:
                    jdwp = f"-J-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:{debugger.getsockname()[1]}"
                    options = ["--json-rpc", f"unix:{folder}/json", *(["--metrics-listen", f"unix:{folder}/own"] if has_own else [])]
                    starting = pool.submit(Peer, *options, jdwp, addresses=False)
                    connection = debugger.accept()[0]
                with connection:
                    connection.sendall(b"JDWP-Handshake")
                    self.assertEqual(connection.recv(14, socket.MSG_WAITALL), b"JDWP-Handshake")
                    place = f"{folder}/{'own' if has_own else 'json'}"
                    self.assertEqual(health(place), 503)
                    early = pool.submit(ask, f"{folder}/json", "/rpc", "POST", {"Content-Type": "application/json"},
                                        '{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"ping"}}')
                    time.sleep(0.2)
                    self.assertEqual(health(place), 503)
                    self.assertFalse(early.done() or starting.done())
                    connection.sendall(struct.pack(">IIBBB", 11, 1, 0, 1, 9))  # VirtualMachine.Resume
                    with starting.result() as peer:
                        self.assertEqual(early.result()[0], 200)
                        self.assertEqual(health(place), 200)
                        peer.clients.clear()
                        connection.close()

    def test_while_the_peer_stops(self):
        peer = self.start("--metrics-listen", "auto", "--grace", "60s")
        client = self.connect()
        client.send(BLOCK % "pass")
        steering = self.connect()
        await_running(steering, 1)
        self.assertEqual(health(peer), 200)
        peer.send_signal(15)
        eventually(lambda: health(peer) == 503)
        self.assertEqual(ask(place_of(peer))[0], 200)
        with self.assertRaises(OSError):
            ask(peer.address("http"), "/healthz")
        peer.process.kill()  # its call would last as long as the grace time


class Addresses(PeerCase):
    def test_both_have_an_address_of_their_own(self):
        peer = self.start("--metrics-listen", "auto")
        self.assertEqual(len(peer.facts["metrics"]), 1)
        self.assertIn(f", metrics {peer.facts['metrics'][0]}/metrics", peer.stderr())
        for path, here, there in (("/metrics", 200, 404), ("/healthz", 200, 404), ("/help", 404, 200), ("/", 404, 405)):
            with self.subTest(path=path):
                self.assertEqual(ask(place_of(peer), path)[0], here)
                self.assertEqual(ask(peer.address("http"), path)[0], there)

    def test_a_flood_of_connections_leaves_room_for_the_operator(self):
        peer = self.start("--metrics-listen", "auto", "--connections-max", "2")
        clients = [self.connect() for _ in range(2)]
        url = urlsplit(peer.address("http"))
        with socket.create_connection((url.hostname, url.port)) as third:
            self.assertIn(b"503", third.recv(100))
        self.assertEqual(health(peer), 200)
        seen = figures(peer)
        self.assertEqual((seen[of("jpeer_connections", transport="websocket")],
                          seen[of("jpeer_refusals_total", reason="connections")]), (len(clients), 1))


class Rights(Principals):
    FILE = f"""principals:
  - name: alice
    tokens: ["{digest(ALICE)}"]
    metrics: true
  - name: bob
    tokens: ["{digest(BOB)}"]
    admin: true
  - name: carol
    tokens: ["{digest(CAROL)}"]
"""

    def test_who_sees_the_figures(self):
        for more in ((), ("--metrics-listen", "auto")):
            with self.subTest(more=more):
                place = place_of(self.serve(self.FILE, *more))
                wrong = bearer("jp_" + "x" * 43)
                for headers, expected in (({}, 401), (wrong, 401), ({"Authorization": "Basic x"}, 401), (bearer(ALICE), 200),
                                          (bearer(BOB), 200), (bearer(CAROL), 403)):
                    self.assertEqual(ask(place, headers=headers)[0], expected)
                    self.assertEqual(ask(place, "/healthz", headers=headers)[0], 200)
                    self.assertEqual(ask(place, "/metrics", "POST", headers)[0], 405)
                seen = figures(self.peer, bearer(ALICE))
                self.assertEqual(seen[of("jpeer_refusals_total", reason="no_evidence")], 1)
                self.assertEqual(seen[of("jpeer_refusals_total", reason="wrong_evidence")], 2)

    def test_a_reload_changes_the_right(self):
        place = self.serve(self.FILE, "--rpc-policy-watch-interval", "100ms").address("http")
        self.assertEqual(ask(place, headers=bearer(ALICE))[0], 200)
        self.write(self.FILE.replace("metrics: true", "metrics: false"))
        eventually(lambda: ask(place, headers=bearer(ALICE))[0] == 403)

    def test_nobody_without_evidence_but_the_anonymous(self):
        place = self.serve("principals:\n  - {name: any, anonymous: true, metrics: true}\n").address("http")
        self.assertEqual(ask(place)[0], 200)
