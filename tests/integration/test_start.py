"""Starting and stopping the binary: options, readiness, the ways to end, and the error for each mistake."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import websockets

from support import jdks
from support.clients import WebSocketClient, ZmqClient, await_running, typed
from support.peer import (BINARY, FIXTURES, START_SECONDS, STOP_SECONDS, Peer, complaints_in, environment, jvm_options,
                          kill_after, run_to_end)
from support.peer_case import PeerCase

MAIN = "fixtures.Main"


class CommandLine(PeerCase):
    """Requests for output that start nothing."""

    def check(self, arguments, status, *texts, env=None):
        done = run_to_end(*arguments, env=env or environment(leaks=True))
        self.assertEqual(done.returncode, status, done.stderr)
        for text in texts:
            self.assertIn(text, done.stdout + done.stderr)
        return done

    def test_help_names_every_option(self):
        flags = (Path(__file__).parents[2] / "docs/flags.md").read_text(encoding="utf-8")
        listed = re.findall(r"^\| `([^`]+)`", flags, re.M)
        self.assertGreater(len(listed), 30)
        for words in (["run", "--help"], ["run", "-h"], ["run", "-help"], ["run", "-?"], ["help", "run"]):
            self.assertEqual(self.check(words, 0, "usage: jpeer", *listed).stderr, "")
        for word in ("--help", "-h", "help"):
            self.assertEqual(self.check([word], 0, "usage: jpeer", "run").stderr, "")

    def test_version(self):
        self.check(["--version"], 0, "jpeer ")
        self.check(["run", "--version"], 0, "jpeer ")

    def test_no_subcommand_and_unknown_ones(self):
        self.check([], 2, "usage: jpeer")
        self.check(["rnu"], 2, 'jpeer: unknown subcommand "rnu": did you mean run? (--help lists them)\n')
        self.check(["log"], 2, "log is not available in this version")

    def test_usage_errors_are_one_line_and_2(self):
        for arguments, text in (
                (["--no-such"], "--no-such"),
                (["--json-rpc", "0x50", MAIN], "--json-rpc takes [HOST:]PORT|auto"),
                (["--grace", "soon", MAIN], "--grace takes MS"),
                ([], "run takes a main class, -jar FILE, -m MODULE or --as-service"),
                (["-d", "localhost:2379", MAIN], "-d is for peers with ports"),
                (["--dir", "localhost:2379", MAIN], "-d is for peers with ports"),
                (["--json-rpc", "0.0.0.0:auto", MAIN], "--insecure-listen"),
                (["--zmq-rpc", "192.0.2.1:5555", MAIN], "--insecure-listen")):
            with self.subTest(arguments=arguments):
                done = self.check(["run", *arguments], 2, text)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_policy_errors_are_2(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\nrules:\n  - class: a\n    action: PERHAPS\n")
            file.flush()
            self.check(["run", "--rpc-policy", file.name, "--as-service"], 2, f"{file.name}:4", "PERHAPS")
        self.check(["run", "--rpc-policy", "/nonexistent.yaml", "--as-service"], 2, "/nonexistent.yaml")
        self.check(["run", "--rpc-policy-preset", "deny-all", "--as-service"], 2, "deny-all")

    def test_environment_errors_are_2(self):
        self.check(["run", "--as-service"], 2, "JPEER_JSON_RPC", env=environment(JPEER_JSON_RPC="nonsense"))


class RunTimeErrors(PeerCase):
    """Each prints one clear line, ends with status 1, and leaves nothing."""

    def check(self, *arguments, texts):
        with tempfile.TemporaryDirectory() as folder:
            done = run_to_end("run", "--ready-file", f"{folder}/ready.json", "--log-level", "warn", "--json-rpc", "auto",
                              *jvm_options(), *arguments)
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(done.returncode, 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_each_mistake_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.NamedTemporaryFile(suffix=".jar") as no_jar:
            no_jar.write(b"this is no jar")
            no_jar.flush()
            port = str(taken.getsockname()[1])
            for arguments, text in ((("--zmq-rpc", port, "--as-service"), port),
                                    (("--json-rpc", port, "--as-service"), port),
                                    (("--jvm", "/nonexistent/jvm", "--as-service"), "/nonexistent/jvm"),
                                    (("-jar", "/nonexistent/app.jar"), "/nonexistent/app.jar"),
                                    (("-jar", no_jar.name), no_jar.name),
                                    (("-J", "-XX:+NoSuchOptionAtAll", "--as-service"), "NoSuchOptionAtAll"),
                                    (("-cp", str(FIXTURES), "fixtures.User"), "fixtures.User")):
                with self.subTest(arguments=arguments):
                    self.check(*arguments, texts=[text])
        done = run_to_end("run", "--ready-file", "/nonexistent/ready.json", "--json-rpc", "auto", "--as-service")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("/nonexistent/ready.json", done.stderr)


class Ready(PeerCase):
    def test_line_and_file_say_the_same(self):
        uuid = "123e4567-e89b-12d3-a456-426614174000"
        peer = self.start("--name", 'a "name"', "--uuid", uuid.upper())
        self.assertEqual(peer.facts["uuid"], uuid)
        self.assertEqual(peer.facts["name"], 'a "name"')
        self.assertEqual(peer.facts["pid"], peer.pid)
        self.assertEqual([a.split(":")[0] for a in peer.facts["addresses"]], ["ws", "http", "tcp"])
        lines = [line for line in peer.stderr().splitlines() if line.startswith("jpeer ready: ")]
        self.assertEqual(len(lines), 1)
        for part in (uuid, 'a "name"', str(peer.pid), *peer.facts["addresses"]):
            self.assertIn(part, lines[0])
        peer.stop()
        self.assertFalse(peer.ready_file.exists())

    def test_the_environment_gives_what_the_line_does_not(self):
        peer = self.start(addresses=False, application=(),
                          env=environment(JPEER_JSON_RPC="auto", JPEER_NAME="from the environment", JPEER_AS_SERVICE="true"))
        self.assertEqual(peer.facts["name"], "from the environment")
        client = self.connect()
        client.control("ping")


class Application(PeerCase):
    """main, and its possible ends."""

    def test_main_gets_its_arguments_and_its_peer_serves_while_it_runs(self):
        peer = self.start(application=(MAIN, "wait", "two words", "ü", "😀", ""))
        with WebSocketClient(peer) as client:
            self.assertEqual(client.call("fixtures.Calculator", "add", 2, 3), "5")
        peer.await_stdout("main wait,two words,ü,😀,\n")
        self.assertEqual(peer.stop(), 0)

    def run_application(self, *arguments):
        return run_to_end("run", "--json-rpc", "auto", "--zmq-rpc", "auto", *jvm_options(), *arguments)

    def test_the_process_ends_with_the_last_thread(self):
        done = self.run_application("-cp", FIXTURES, MAIN, "return")
        self.assertEqual((done.returncode, done.stdout), (0, "main return\n"))

    def test_a_thread_keeps_the_process(self):
        peer = self.start(application=(MAIN, "keep-alive"))
        with WebSocketClient(peer) as client:
            client.call("fixtures.Spawner", "stop")
        self.assertEqual(peer.wait(), 0)

    def test_main_of_a_jar(self):
        done = self.run_application("-jar", FIXTURES, "exit", "7")
        self.assertEqual((done.returncode, done.stdout), (7, "main exit,7\n"))

    def test_a_wildcard_in_the_class_path(self):
        done = self.run_application("-cp", f"/nowhere:{FIXTURES.parent}/*", MAIN, "exit", "7")
        self.assertEqual((done.returncode, done.stdout), (7, "main exit,7\n"))

    def test_an_uncaught_exception_is_reported_and_1(self):
        done = self.run_application("-cp", FIXTURES, "fixtures.UncaughtMain")
        self.assertEqual(done.returncode, 1)
        self.assertIn("IllegalStateException: main failed", done.stderr)
        self.assertIn("at fixtures.UncaughtMain.main", done.stderr)

    def test_exit_in_a_call_is_not_waited_for(self):
        peer = self.start("--grace", "10m")
        bystander = self.connect()
        client = WebSocketClient(peer)
        client.send('{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"java.lang.System","method":"exit",'
                    '"args":[{"type":"int","value":42}]}}')
        self.assertIn("the peer is shutting down", client.receive())
        bystander.close()
        client.close()
        self.assertEqual(peer.wait(), 42)


class Log(PeerCase):
    """Where the log goes, and the line that says why a peer ended."""

    def run_application(self, *arguments, **variables):
        return run_to_end("run", "--json-rpc", "auto", *jvm_options(), "-cp", FIXTURES, *arguments,
                          env={**environment(), **variables})

    def test_one_line_says_why_a_peer_ends(self):
        for words, reason in (((MAIN, "return"), "the application's last thread has ended"),
                              (("fixtures.UncaughtMain",), "the application's last thread has ended"),
                              ((MAIN, "exit", "7"), f"System.exit was called, in {MAIN}.main")):
            with self.subTest(words=words):
                self.assertEqual([reason], re.findall(r"info  the peer stops: (.*)", self.run_application(*words).stderr))
        for number in (signal.SIGTERM, signal.SIGINT):
            peer = self.start()
            os.kill(peer.process.pid, number)
            self.assertEqual(0, peer.wait())
            sender = f"{number.name} from process {os.getpid()} of user {os.getuid()}"
            self.assertEqual([sender], re.findall(r"the peer stops: (.*)", peer.stderr()))
        for method, line in (("exit", "the peer stops: a client's request called System.exit"),
                             ("halt", r"the peer ends at once: Runtime.halt(3) was called")):
            peer = self.start()
            with self.connect() as client:
                owner = {"type": "java.lang.System"}
                if method == "halt":
                    owner = {"instance": client.request("call", {"type": "java.lang.Runtime", "method": "getRuntime", "args": []})
                             ["result"]["value"]["ref"]}
                client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call",
                                        "params": {**owner, "method": method, "args": [{"type": "int", "value": 3}]}}))
                self.assertEqual(3, peer.wait())
            self.assertEqual(1, peer.stderr().count(line), peer.stderr())

    def test_one_line_says_that_native_code_has_ended_the_peer(self):
        """A child that it forks is no peer."""
        with tempfile.TemporaryDirectory() as folder:
            library, audit = Path(folder, "exits.so"), Path(folder, "audit.json")
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True, text=True, input="""
                #include <stdlib.h>
                #include <sys/wait.h>
                #include <unistd.h>
                __attribute__((constructor)) static void end(void)
                {
                  if (!getenv("EXITS_WITH"))
                    return;
                  if (fork() == 0)
                    exit(1);
                  wait(NULL);
                  exit(atoi(getenv("EXITS_WITH")));
                }""")
            peer = self.start("--audit", audit, env=environment(EXITS_WITH="9"))
            with self.connect() as client:
                client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
                    "type": "java.lang.System", "method": "load", "args": [str(library)]}}))
                self.assertEqual(9, peer.wait())
            self.assertEqual(["native code called exit(3)"], re.findall("the peer ends at once: (.*)", peer.stderr()))
            ended = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()][-1]
            self.assertEqual(("ended", "exit(3)"), (ended["event"], ended["by"]))

    def test_a_file_gets_the_lines_and_is_opened_anew_when_it_was_moved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "log")
            path.write_text("an earlier line\n", encoding="utf-8")
            peer = self.start("--log-file", path, "--log-format", "json")
            moved = path.rename(Path(folder, "log.1"))
            peer.stop()
            first, *others = moved.read_text(encoding="utf-8").splitlines()
            self.assertEqual("an earlier line", first)
            lines = [json.loads(line) for line in [*others, *path.read_text(encoding="utf-8").splitlines()]]
            self.assertEqual({"time", "level", "message"}, {key for line in lines for key in line})
            self.assertIn("the peer stops: SIGTERM", lines[-1]["message"])
            self.assertNotIn("the peer stops", moved.read_text(encoding="utf-8") + peer.stderr())

    def test_a_full_disk_loses_lines_and_nothing_else(self):
        peer = self.start("--log-file", "/dev/full")
        with self.connect() as client:
            self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
        peer.stop()

    def test_a_file_that_cannot_be_opened_is_an_error(self):
        done = self.run_application("--log-file", "/nowhere/log", MAIN, "return")
        self.assertEqual((1, "jpeer run: --log-file: /nowhere/log: No such file or directory\n"), (done.returncode, done.stderr))

    def test_variables_that_change_the_jvm_are_named_or_ignored(self):
        variables = {"JAVA_TOOL_OPTIONS": "-Dfixtures.one=1", "_JAVA_OPTIONS": "-Dfixtures.two=1", "JDK_JAVA_OPTIONS": "-Dfixtures.three=1"}
        done = self.run_application(MAIN, "return", **variables)
        for name in variables:
            self.assertIn(f"info  {name} is set: its options change the JVM", done.stderr)
            self.assertIn(f"Picked up {name}", done.stderr)
        broken = {name: '"-Dno-end' for name in variables}
        done = self.run_application("--jvm-env", "ignore", MAIN, "return", **broken)
        self.assertEqual(0, done.returncode, done.stderr)
        for name in variables:
            self.assertIn(f"info  {name} is set, and is ignored", done.stderr)
        self.assertNotIn("Picked up", done.stderr)


def start_blocked_call(client, type_name="fixtures.Blockers", method="pass", args="[]"):
    client.send(f'{{"jsonrpc":"2.0","id":"blocked","method":"call","params":{{"type":"{type_name}",'
                f'"method":"{method}","args":{args}}}}}')


class Machines(PeerCase):
    """One binary runs with every JDK that is installed."""

    def test_each_by_flag_and_by_java_home(self):
        self.assertTrue(jdks.homes())

        def check(case):
            home, options, changes = case
            with Peer(*options, env=environment(**changes)) as peer, WebSocketClient(peer) as client:
                self.assertEqual(client.call("java.lang.System", "getProperty", "java.home"), str(home))
        self.at_once(check, [case for home in jdks.homes()
                             for case in ((home, ("--jvm", home), {}), (home, (), {"JAVA_HOME": str(home)}))])


class Stopping(PeerCase):
    def test_sigterm_and_sigint(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            peer = self.start()
            client = WebSocketClient(peer)
            client.control("ping")
            peer.send_signal(number)
            with self.assertRaises(websockets.ConnectionClosed) as closed:
                client.receive()
            self.assertEqual(closed.exception.rcvd.code, 1001)
            self.assertEqual(peer.wait(), 0)
            self.assertFalse(peer.ready_file.exists())

    def test_a_running_call_gets_its_answer_within_the_grace_time(self):
        for kind in (WebSocketClient, ZmqClient):
            with self.subTest(kind.__name__):
                peer = self.start("--grace", "30s")
                client, other = self.connect(kind), self.connect()
                start_blocked_call(client, method="sleep", args="[1500]")  # long enough to check that it runs
                await_running(other, 1)
                for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
                    peer.send_signal(number)
                self.assertIn('"id":"blocked","result":{"void":true}', client.receive())
                self.assertEqual(peer.wait(), 0)

    def test_a_running_call_gets_its_answer_after_the_last_thread_has_ended(self):
        """A signal during that time changes nothing."""
        peer = self.start("--grace", "30s", application=(MAIN, "keep-alive"))
        client, other = WebSocketClient(peer), WebSocketClient(peer)
        start_blocked_call(client, method="sleep", args="[1500]")
        await_running(other, 1)
        other.call("fixtures.Spawner", "stop")
        with self.assertRaises(websockets.ConnectionClosed):
            other.receive()
        peer.send_signal(signal.SIGTERM)
        self.assertIn('"id":"blocked","result":{"void":true}', client.receive())
        self.assertEqual(peer.wait(), 0)

    def test_signals_are_caught_and_not_blocked(self):
        """A signal that was ignored remains ignored, as with nohup."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            peer = self.start()
        finally:
            signal.signal(signal.SIGHUP, before)
        status = Path(f"/proc/{peer.pid}/status").read_text(encoding="ascii")
        of = {name: int(re.search(rf"{name}:\s+(\w+)", status)[1], 16) for name in ("SigBlk", "SigIgn", "SigCgt")}
        for number, wanted in ((signal.SIGTERM, "SigCgt"), (signal.SIGINT, "SigCgt"), (signal.SIGQUIT, "SigCgt"),
                               (signal.SIGHUP, "SigIgn"), (signal.SIGPIPE, "SigCgt")):
            self.assertEqual([name for name in of if of[name] >> (number - 1) & 1], [wanted], number.name)

    def test_a_call_that_outlives_the_grace_time_gets_an_error(self):
        peer = self.start("--grace", "200")
        client, other = WebSocketClient(peer), WebSocketClient(peer)
        start_blocked_call(client)
        await_running(other, 1)
        peer.send_signal(signal.SIGTERM)
        reply = client.receive()
        self.assertIn('"id":"blocked"', reply)
        self.assertIn("shutting down", reply)
        self.assertEqual(peer.wait(), 0)

    def test_no_new_connection_while_it_drains(self):
        peer = self.start("--grace", "2s")
        client, other = WebSocketClient(peer), WebSocketClient(peer)
        start_blocked_call(client)
        await_running(other, 1)
        peer.send_signal(signal.SIGTERM)
        with self.assertRaises(websockets.ConnectionClosed):
            while True:
                other.receive()
        with self.assertRaises((OSError, websockets.InvalidHandshake, EOFError)):
            WebSocketClient(peer)
        self.assertEqual(peer.wait(), 0)

    def test_a_later_signal_does_not_wait_for_a_hook_that_never_ends(self):
        def check(number):
            with Peer("--grace", "1", application=(MAIN, "endless-hook")) as peer:
                peer.await_stdout("hook added")
                peer.send_signal(number)
                peer.await_stdout("in the hook")
                for _ in range(600):  # the grace time is short; only after a defect all turns are needed
                    if peer.process.poll() is None:
                        peer.send_signal(number)
                        time.sleep(0.05)
                self.assertEqual(peer.wait(), 143)
                self.assertRegex(peer.stderr(), r'It waited for the shutdown hook "(endless|jpeer-drain)", in \S+\.\w+')
        self.at_once(check, (signal.SIGTERM, signal.SIGINT))

    def test_a_second_signal_within_the_grace_time_waits_too(self):
        peer = self.start("--grace", "10m", application=(MAIN, "endless-hook"))
        peer.await_stdout("hook added")
        peer.send_signal(signal.SIGTERM)
        peer.await_stdout("in the hook")
        peer.send_signal(signal.SIGTERM)
        peer.await_stderr("the peer is stopping")
        self.assertIsNone(peer.process.poll())
        peer.process.kill()
        self.assertEqual(peer.wait(), -signal.SIGKILL)

    def test_sigquit_prints_a_thread_dump(self):
        peer = self.start()
        peer.send_signal(signal.SIGQUIT)
        peer.await_stdout("Full thread dump")
        client = self.connect()
        client.control("ping")

    def check_signal_during_start(self, number, delay_ms, *options):
        done = subprocess.Popen([BINARY, "run", "--json-rpc", "auto", *jvm_options(), *options, "--as-service"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                env=environment(), text=True)
        time.sleep(delay_ms / 1000)
        done.send_signal(number)
        try:
            _, errors = done.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            done.kill()
            done.communicate()
            self.fail("the signal was lost: the peer still runs")
        # Before the peer has set its handlers, the signal itself ends the process.
        self.assertIn(done.returncode, (0, -number), errors)
        self.assertEqual(complaints_in(errors), [])

    def test_a_signal_ends_the_peer_at_every_moment_of_its_start(self):
        # checks only every third moment, because starting more peers at once would only be slower
        def check(first):
            for step in range(first, 30, 3):
                self.check_signal_during_start(signal.SIGTERM if step % 2 == 0 else signal.SIGINT, step * 10)
        self.at_once(check, range(3))

    def test_a_signal_ends_the_peer_while_the_jvm_fills_its_heap(self):
        for delay_ms in (60, 150, 240):
            with self.subTest(delay_ms=delay_ms):
                self.check_signal_during_start(signal.SIGTERM, delay_ms, "-Xms700m", "-XX:+AlwaysPreTouch")

    def test_a_second_signal_ends_a_start_that_hangs(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "Hanging.java")
            source.write_text("""
                public class Hanging {
                  public static void premain(String options) throws Exception {
                    System.out.println("in premain");
                    System.out.flush();
                    Thread.sleep(1_000_000);
                  }
                }
                """, encoding="utf-8")
            Path(folder, "agent.mf").write_text("Premain-Class: Hanging\n", encoding="utf-8")
            tools = jdks.homes()[0] / "bin"
            for command in ([tools / "javac", "--release", "17", "-d", folder, source],
                            [tools / "jar", "-c", "-f", f"{folder}/agent.jar", "-m", f"{folder}/agent.mf", "-C", folder,
                             "Hanging.class"]):
                subprocess.run(command, check=True, capture_output=True, timeout=4 * START_SECONDS)
            peer = subprocess.Popen([BINARY, "run", "--json-rpc", "auto", "--grace", "1",
                                     f"-javaagent:{folder}/agent.jar", "--as-service"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(), text=True)
            with kill_after(peer):
                self.assertEqual(peer.stdout.readline(), "in premain\n")
            deadline = time.monotonic() + STOP_SECONDS
            while peer.poll() is None and time.monotonic() < deadline:
                peer.send_signal(signal.SIGTERM)
                time.sleep(0.05)
            peer.kill()  # it has ended, or ignores the signals
            _, errors = peer.communicate()
            self.assertEqual(peer.returncode, 143, errors)
            self.assertIn("It waited for the start of the JVM", errors)

    def test_children_of_called_code_inherit_no_signal_that_is_blocked_or_ignored(self):
        peer = self.start()
        client = self.connect()
        child = client.call("java.lang.Runtime", "exec",
                            typed("String[]", ["cp", "/proc/self/status", f"{peer.folder.name}/child"]),
                            on=client.call("java.lang.Runtime", "getRuntime"))
        self.assertEqual(client.call("java.lang.Process", "waitFor", on=child), "0")
        status = Path(peer.folder.name, "child").read_text(encoding="ascii")
        for field in ("SigBlk", "SigIgn"):
            signals = int(re.search(rf"{field}:\s+(\w+)", status).group(1), 16)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                self.assertFalse(signals & (1 << (number - 1)), f"{number.name} in {field}")
