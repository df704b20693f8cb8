"""Requests on executors of the application: their order, how they fail there, and binary messages.
tests/conformance/executors covers single requests and their replies."""

import json
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from support.binary_client import (DENIED, BinaryClient, call_message, control_message, get_message, new_message,
                                   obj_null, put_message)
from support.clients import TRANSPORTS, HttpClient, RpcError, WebSocketClient, ZmqClient, await_running
from support.jdks import full_version, homes
from support.peer import FIXTURES, START_SECONDS, Peer, eventually
from support.peer_case import BinaryCase, PeerCase

GOOD = {"SINGLE": "fixtures.Affinity.single", "FIELD": "fixtures.Affinity.FIELD", "DIRECT": "fixtures.Affinity.DIRECT",
        "LATER": "fixtures.Affinity.later", "LOOP": "fixtures.Affinity.loop", "AGAIN": "fixtures.Affinity.AGAIN"}
BAD = {"REJECTING": "fixtures.Affinity.REJECTING", "NOWHERE": "fixtures.Nowhere.later"}
NEVER = {"DROPPING": "fixtures.Affinity.DROPPING", "KEEPING": "fixtures.Affinity.KEEPING"}
THREAD = ("fixtures.Affinity", "threadName")
SWING = {"SWING": "javax.swing.SwingUtilities.invokeLater"}


def flags(*tables):
    return [word for table in tables for name, member in table.items()
            for word in ("--thread-affinity", f"{name}={member}")]


def request(affinity, method, *args, kind="fixtures.Affinity", number=1, verb="call", **params):
    if verb == "call":
        params = {"type": kind, "method": method, "args": list(args)}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": verb, "params": params,
                       "options": {"threadAffinity": affinity}})


def ask(client, affinity, method, *args, **more):
    """Calls a method with an affinity. Returns the result."""
    answer = json.loads(client.exchange(request(affinity, method, *args, **more)))
    if "error" in answer:
        raise RpcError(answer["error"])
    return answer["result"].get("value", {}).get("value")


def java_home(peer_client):
    return peer_client.call("java.lang.System", "getProperty", "java.home")


def on_thread(affinity, message):
    return {**message, "execMessage": {**message["execMessage"], "threadAffinity": affinity}}


class Answers(PeerCase):
    def test_a_long_result_of_an_executors_thread_is_a_ref(self):
        limits = ("--send-buffer-max", "4096", "--message-max", "4096", "--session-max-objects", "2")
        self.start(*flags(GOOD), *limits)
        for client in self.each(*TRANSPORTS):
            for _ in range(5):
                answer = json.loads(client.exchange(request("SINGLE", "longText", 8192, kind="fixtures.Arguments")))
                result = answer["result"]["value"]
                self.assertEqual(set(result), {"type", "null", "ref"})
                self.assertEqual(client.call("java.lang.String", "length", on=result["ref"]), "8192")
                client.control("delete_object", {"ref": result["ref"]})


class Threads(PeerCase):
    options = flags(GOOD)

    def test_an_executor_may_exist_only_after_main(self):
        client = self.client
        error = self.failure(ask, client, "LATER", "threadName")
        self.assertEqual(error.detail,
                         "thread affinity LATER (fixtures.Affinity.later): the executor threw: "
                         "java.lang.IllegalStateException: Toolkit not initialized")
        client.call("fixtures.Affinity", "startToolkit")
        self.assertEqual(ask(client, "LATER", "threadName"), "fixture-single")

    def test_requests_run_on_swings_event_thread(self):
        for home in homes():
            with self.subTest(home=home.name), Peer("--jvm", home, "-J", "-Djava.awt.headless=true",
                                                    *flags(SWING)) as peer, WebSocketClient(peer) as client:
                if not (Path(java_home(client)) / "lib" / "libawt_headless.so").exists():
                    self.skipTest("this JDK has no java.desktop")
                self.assertTrue(ask(client, "SWING", "threadName").startswith("AWT-EventQueue-"))
                self.assertEqual(ask(client, "SWING", "isDispatchThread", kind="java.awt.EventQueue"), "true")
                self.assertEqual(client.call("java.awt.EventQueue", "isDispatchThread"), "false")
                self.assertEqual(peer.stop(), 0)

    def test_requests_run_on_the_fx_thread(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-test-") as folder:
            source = Path(folder, "Platform.java")
            source.write_text(
                "package javafx.application;\n"
                "public final class Platform {\n"
                "  public static void runLater(Runnable task) {\n"
                "    Thread thread = new Thread(task, \"JavaFX Application Thread\");\n"
                "    thread.setDaemon(true);\n"
                "    thread.start();\n"
                "  }\n"
                "}\n", encoding="utf-8")
            subprocess.run(["javac", "--release", "17", "-d", folder, source], check=True, timeout=4 * START_SECONDS)
            with Peer("--fx-thread", class_path=f"{FIXTURES}:{folder}") as peer, WebSocketClient(peer) as client:
                self.assertEqual(ask(client, "FX", "threadName"), "JavaFX Application Thread")
            with Peer("--fx-thread") as peer, WebSocketClient(peer) as client:
                error = self.failure(ask, client, "FX", "threadName")
                self.assertEqual(error.detail,
                                 "thread affinity FX (javafx.application.Platform.runLater): its class cannot be loaded: "
                                 "java.lang.ClassNotFoundException: javafx.application.Platform")

    def test_an_applications_thread_keeps_its_state(self):
        """Requests keep the interrupt flag and the context class loader that the application has set on its thread."""
        client = self.client
        self.assertEqual(ask(client, "LOOP", "mark"), "false")
        self.assertEqual(ask(client, "LOOP", "mark"), "true")
        self.assertEqual(client.call("fixtures.Affinity", "mark"), "false")
        self.assertEqual(client.call("fixtures.Affinity", "mark"), "false")

    def test_requests_run_on_virtual_threads(self):
        with_them = [home for home in homes() if int(full_version(home).split(".")[0].split("+")[0]) >= 21]
        if not with_them:
            self.skipTest("no JDK here has virtual threads")
        member = "java.util.concurrent.Executors.newVirtualThreadPerTaskExecutor"
        for home in with_them:
            with self.subTest(home=home.name), \
                    Peer("--jvm", home, "--thread-affinity", f"V={member}") as peer, WebSocketClient(peer) as client:
                self.assertEqual(ask(client, "V", "inside", 20), "1")
                self.assertEqual(ask(client, "V", "threadName"), "")
                self.assertEqual(peer.stop(), 0)


class Order(PeerCase):
    options = flags(GOOD)

    def test_answers_of_a_connection_keep_their_order(self):
        names = ["SINGLE", "FIELD", "nobody", "DIRECT"]
        for client in self.each(WebSocketClient, ZmqClient):
            for number in range(200):
                client.send(request(names[number % 4], "inside", number % 3, number=number))
            self.assertEqual([json.loads(client.receive())["id"] for _ in range(200)], list(range(200)))

    def test_one_executor_runs_one_request_and_holds_up_nobody_else(self):
        peer = self.peer
        other = self.connect()
        first, *clients = (WebSocketClient(peer) for _ in range(12))
        first.send(request("SINGLE", "pass", kind="fixtures.Blockers"))
        for client in clients:
            client.send(request("SINGLE", "inside", 5))
        await_running(other, 1)
        for _ in range(20):
            self.assertEqual(other.call("fixtures.Calculator", "add", 1, 2), "3")
        other.call("fixtures.Blockers", "open")
        self.assertEqual(json.loads(first.receive())["result"]["value"]["value"], "1")
        for client in clients:
            self.assertEqual(json.loads(client.receive())["result"]["value"]["value"], "1")

    def test_a_hundred_clients_get_their_own_answers(self):
        peer = self.peer
        before = int(ask(HttpClient(peer), "SINGLE", "count"))
        faults = []

        def work():
            with WebSocketClient(peer) as client:
                for number in range(50):
                    answer = json.loads(client.exchange(request(("SINGLE", "FIELD", "AGAIN")[number % 3], "count")))
                    if "error" in answer:
                        faults.append(answer)

        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client = self.connect()
        self.assertEqual(faults, [])
        self.assertEqual(int(client.call("fixtures.Affinity", "count")), before + 1001)
        self.assertEqual(client.call("fixtures.Affinity", "faults"), "0")
        client.call("fixtures.Affinity", "runKept")
        self.assertEqual(int(client.call("fixtures.Affinity", "count")), before + 1002)
        self.assertEqual(client.call("fixtures.Affinity", "forge"), "100")


class Faults(PeerCase):
    def test_exceptions_of_called_code_are_sent_as_ever(self):
        client = self.serve(*flags(GOOD))
        for affinity in ("SINGLE", "DIRECT", "nobody"):
            answer = json.loads(client.exchange(request(affinity, "fail", "no")))["error"]
            self.assertEqual((answer["code"], answer["data"]["throwable_type"], answer["data"]["message"]),
                             (-32000, "java.lang.IllegalArgumentException", "no"))
            frames = answer["data"]["stack_trace"]
            self.assertTrue(frames[0].startswith("fixtures.Affinity.fail("))
            self.assertFalse([frame for frame in frames if "jpeer" in frame])

    def test_a_request_that_is_dropped_is_answered_once_java_forgets_it(self):
        client, other = self.serve(*flags(NEVER)), self.connect()
        client.send(request("DROPPING", "count"))
        done = threading.Event()

        def collect():
            while not done.wait(0.1):
                other.control("gc")

        collector = threading.Thread(target=collect)
        collector.start()
        answer = json.loads(client.receive())
        done.set()
        collector.join()
        self.assertEqual(answer["error"]["data"]["message"],
                         "thread affinity DROPPING (fixtures.Affinity.DROPPING): the executor dropped the request "
                         "without running it")

    def test_a_request_that_runs_after_its_client_has_gone(self):
        def leave_http():
            address, port = peer.address("http").split("/")[2].split(":")
            body = request("KEEPING", "make").encode()
            with socket.create_connection((address, int(port))) as connection:
                connection.sendall(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                await_kept()

        def leave_zmq():
            with ZmqClient(peer) as client:
                client.send(request("KEEPING", "make"))
                await_kept()

        def await_kept():
            eventually(lambda: other.call("fixtures.Affinity", "kept") == "1", "the request is kept")

        peer = self.start(*flags(NEVER))
        other = self.connect()
        for leave in (leave_http, leave_zmq):
            leave()
            time.sleep(0.1)
            self.assertEqual(other.call("fixtures.Affinity", "runKept"), "1")
            self.assertEqual(other.call("fixtures.Calculator", "add", 1, 2), "3")
        self.assertEqual(peer.stop(), 0)


class Ends(PeerCase):
    def test_the_grace_time_ends_requests_that_never_run(self):
        for affinity in NEVER:
            with Peer(*flags(NEVER), "--grace", "500ms") as peer, WebSocketClient(peer) as other:
                client = WebSocketClient(peer)
                client.send(request(affinity, "count"))
                time.sleep(0.2)
                self.assertEqual(other.control("ping"), None)
                peer.process.send_signal(signal.SIGTERM)
                answer = json.loads(client.receive())
                self.assertIn("shutting down", answer["error"]["data"]["message"])
                self.assertEqual(peer.process.wait(60), 0)

    def test_what_runs_gets_the_grace_time(self):
        peer = self.start(*flags(GOOD), "--grace", "60s")
        other = self.connect()
        client = WebSocketClient(peer)
        client.send(request("SINGLE", "sleep", 1000, kind="fixtures.Blockers"))
        await_running(other, 1)
        peer.process.send_signal(signal.SIGTERM)
        self.assertIn("result", json.loads(client.receive()))
        self.assertEqual(peer.process.wait(60), 0)

    def test_system_exit_on_an_executor_is_not_waited_for(self):
        for affinity in ("SINGLE", "DIRECT"):
            for transport in (WebSocketClient, ZmqClient):
                with Peer(*flags(GOOD), "--grace", "600s") as peer:
                    client = transport(peer)
                    client.send(request(affinity, "exit", 7, kind="java.lang.System"))
                    self.assertIn("shutting down", client.receive())
                    self.assertEqual(peer.process.wait(60), 7)

    def test_the_application_ends_while_a_request_waits(self):
        peer = self.start(*flags(NEVER), "--grace", "500ms", application=("fixtures.Main",))
        other = self.connect()
        client = WebSocketClient(peer)
        client.send(request("KEEPING", "count"))
        eventually(lambda: other.call("fixtures.Affinity", "kept") == "1", "the request is kept")
        peer.process.send_signal(signal.SIGTERM)
        self.assertEqual(peer.process.wait(60), 0)


class BinaryMessages(BinaryCase):
    """Binary messages run on the thread that a JSON request with the same option runs on."""

    options = flags(GOOD, BAD, NEVER)

    def test_a_binary_message_runs_on_the_executor(self):
        for shape in BinaryClient.SHAPES:
            with BinaryClient(self.peer, shape) as client:
                for affinity, thread in 3 * [("SINGLE", '"fixture-single"'), ("FIELD", '"fixture-field"'),
                                             ("DIRECT", '"rpc-'), ("nobody", '"rpc-'), ("", '"rpc-')]:
                    value = client.result(on_thread(affinity, call_message(*THREAD)))["value"]
                    self.assertTrue(value.startswith(thread), (affinity, value))

    def test_every_binary_operation_runs_on_the_executor(self):
        number = self.client.result(on_thread("SINGLE", new_message("java.util.ArrayList")))["ref"]
        self.client.run(on_thread("FIELD", call_message("java.util.ArrayList", "add", "x", on=number)))
        size = self.client.result(on_thread("SINGLE", get_message("java.util.ArrayList", "size", on=number)))
        self.assertEqual(size["value"], "1")
        done = self.client.run(on_thread("SINGLE", put_message("fixtures.Affinity", "number", 7)))["staticFieldPutDone"]
        self.assertEqual(done["field"]["name"], "number")
        self.assertEqual(self.client.get("fixtures.Affinity", "number"), 7)

    def test_replies_keep_their_order(self):
        names = ("SINGLE", "FIELD", "nobody", "DIRECT")
        for number in range(200):
            message = on_thread(names[number % 4], call_message("fixtures.Affinity", "inside", number % 3))
            self.client.send(self.client.addressed(message if number % 5 else control_message("ping")))
        for number in range(1, 201):
            reply = self.client.receive()
            part = reply.get("execMessage") or reply["controlMessage"]
            self.assertEqual(part["responseToId"], f"request-{number}")

    def test_faults_of_executors_are_sent_in_binary_replies(self):
        for affinity, message, type_name, text in (
                ("SINGLE", call_message("fixtures.Affinity", "fail", "no"), "java.lang.IllegalArgumentException", "no"),
                ("SINGLE", call_message("fixtures.Affinity", "nothing"), "java.lang.NoSuchMethodException", "nothing"),
                ("REJECTING", call_message(*THREAD), "java.util.concurrent.RejectedExecutionException", "full"),
                ("NOWHERE", call_message(*THREAD), "java.lang.ClassNotFoundException", "fixtures.Nowhere")):
            self.assert_raised(on_thread(affinity, message), type_name, text)

    def test_the_policy_holds_on_executors(self):
        self.start(*self.options, "--rpc-allow", "java.lang.Math", allow=False)
        self.assertEqual(self.client.result(on_thread("SINGLE", call_message("java.lang.Math", "max", 3, 5)))["value"], "5")
        for message in (call_message(*THREAD), call_message("java.lang.Math", "max", obj_null("no.such.Thing"), 1)):
            for affinity in ("SINGLE", "nobody"):
                self.assert_raised(on_thread(affinity, message), DENIED)

    def test_one_that_has_no_work_for_others_holds_up_nobody(self):
        waiting, steering = self.connect(BinaryClient, "req"), self.connect(WebSocketClient)
        waiting.send(waiting.addressed(on_thread("KEEPING", call_message(*THREAD))))
        eventually(lambda: steering.call("fixtures.Affinity", "kept") == "1", "the request is kept")
        self.assertEqual(self.client.call("fixtures.Calculator", "add", 1, 2), 3)
        steering.call("fixtures.Affinity", "runKept")
        self.assertIn("value", waiting.receive()["execMessage"]["returnValue"]["object"])
