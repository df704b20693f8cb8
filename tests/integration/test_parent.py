"""--stop-on-eof: a peer ends with the program that started it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.clients import WebSocketClient
from support.peer import BINARY, STOP_SECONDS, Peer, environment, eventually, has_ended, kill_after, run_to_end
from support.peer_case import PeerCase

# Starts a peer with the pipe's end and waits to be killed; the peer's stderr is ours.
PARENT = """
import os, subprocess, sys, time
reader, writer = os.pipe()
os.set_inheritable(reader, True)
peer = subprocess.Popen([sys.argv[1], "run", "--json-rpc", "auto", "--stop-on-eof", str(reader), "--as-service"],
                        close_fds=False)
os.close(reader)
print(peer.pid, flush=True)
time.sleep(600)
"""


class Parent(PeerCase):
    def peer_with_pipe(self, *options):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.dup2(reader, 200)  # a descriptor made by dup2 is inheritable
        self.addCleanup(os.close, 200)
        peer = Peer("--stop-on-eof", "200", *options, pass_fds=(200,))
        self.addCleanup(peer.close)
        return peer, writer

    def test_ends_when_the_pipe_is_closed(self):
        peer, writer = self.peer_with_pipe()
        os.write(writer, b"x" * 1000)  # the bytes are dropped
        with WebSocketClient(peer) as client:
            self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
            os.close(writer)
            self.assertEqual(peer.process.wait(STOP_SECONDS), 0)
        self.assertIn("is gone: the peer stops", peer.stderr())

    def test_says_nothing_of_an_end_that_was_planned(self):
        peer, writer = self.peer_with_pipe()
        os.write(writer, b"stop")
        os.close(writer)
        self.assertEqual(peer.process.wait(STOP_SECONDS), 0)
        self.assertNotIn("is gone", peer.stderr())

    def check_folder(self, files, left):
        with tempfile.TemporaryDirectory() as outer:
            folder = Path(outer, "folder")
            folder.mkdir()
            for name, content in files.items():
                Path(folder, name).write_text(content)
            peer, writer = self.peer_with_pipe("--json-rpc", f"unix:{folder}/socket", "--remove-on-eof", str(folder))
            self.assertEqual(sorted(os.listdir(folder)), sorted([*files, "socket"]))
            os.close(writer)
            self.assertEqual(peer.process.wait(STOP_SECONDS), 0)
            self.assertEqual(sorted(os.listdir(folder)) if folder.exists() else None, left)

    def test_removes_the_folder_of_its_sockets(self):
        self.check_folder({"socket2.lock": ""}, None)

    def test_keeps_what_others_have_put_into_the_folder(self):
        self.check_folder({"file": "kept", "socket.lock": "no lock", "empty": ""}, ["empty", "file", "socket.lock"])

    def test_says_why_it_does_not_start(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        with theirs:
            done = run_to_end("run", "--stop-on-eof", str(theirs.fileno()), "no.such.Main", pass_fds=(theirs.fileno(),))
        self.assertEqual(1, done.returncode)
        self.assertEqual("main class no.such.Main not found", ours.recv(1000).decode())

    def test_ends_though_a_call_blocks(self):
        peer, writer = self.peer_with_pipe("--grace", "300")
        with WebSocketClient(peer) as client:
            client.send('{"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"type": "java.lang.Thread", '
                        '"method": "sleep", "args": [600000]}}')
            time.sleep(0.2)
            os.close(writer)
            peer.process.wait(STOP_SECONDS)

    def test_ends_with_a_parent_that_is_killed(self):
        parent = subprocess.Popen([sys.executable, "-c", PARENT, str(BINARY)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=environment(), text=True)
        with parent:
            with kill_after(parent):
                pid = int(parent.stdout.readline())
                while "ready" not in (line := parent.stderr.readline()):
                    self.assertTrue(line, "the peer does not start")
            parent.send_signal(signal.SIGKILL)
            parent.wait()
            eventually(lambda: has_ended(pid), "the peer ends")

    def test_ends_with_a_parent_that_is_gone_before_the_jvm_is_up(self):
        reader, writer = os.pipe()
        os.close(writer)
        self.addCleanup(os.close, reader)
        done = subprocess.run([BINARY, "run", "--json-rpc", "auto", "--stop-on-eof", str(reader), "--as-service"],
                              pass_fds=(reader,), env=environment(), timeout=STOP_SECONDS, capture_output=True,
                              text=True, check=False)
        self.assertIn("is gone: the peer stops", done.stderr)

    def test_refuses_what_is_no_descriptor(self):
        for word in ("-1", "x", "3x", "99999", "99999999999999999999", ""):
            done = run_to_end("run", "--json-rpc", "auto", f"--stop-on-eof={word}", "--as-service")
            self.assertEqual(done.returncode, 2, word)
            self.assertIn("--stop-on-eof", done.stderr)
