"""jpeer shell: in a terminal, as a person types, and as the interpreter of scripts."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

from support.clients import await_running
from support.peer import BINARY, FIXTURES, START_SECONDS, Peer, environment, eventually, run_to_end
from support.peer_case import PeerCase

EDITS = any(Path(folder).glob("libedit.so.2*") for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                                              "/usr/lib64", "/usr/lib"))
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]|[\x07\r]")


class Terminal:
    """A jpeer in a terminal of 100 columns."""

    def __init__(self, *words, home, **changes):
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([BINARY, *map(str, words)], stdin=child, stdout=child, stderr=child,
                                        preexec_fn=take_terminal,
                                        env=environment(leaks=True, HOME=home, XDG_STATE_HOME=f"{home}/state", TERM="xterm",
                                                        LC_ALL="C.UTF-8", PAGER="cat", NO_COLOR="1", **changes))
        os.close(child)
        self.parent = parent
        self.seen = ""

    def type(self, text):
        os.write(self.parent, text.encode())

    def read_until(self, wanted):
        """What was shown up to and with the text, without what moves the cursor."""
        deadline = time.monotonic() + START_SECONDS
        while wanted not in self.seen:
            ready, _, _ = select.select([self.parent], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"{wanted!r} was not shown: {self.seen!r}")
            self.seen = CONTROL.sub("", self.seen + os.read(self.parent, 65536).decode(errors="replace"))
        shown, self.seen = self.seen.split(wanted, 1)
        return shown + wanted

    def run(self, line, wanted):
        self.type(line + "\r")
        return self.read_until(wanted)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.parent)


@unittest.skipUnless(EDITS, "needs libedit")
class Typing(PeerCase):
    options = ("--name", "demo")

    def open(self, *words, home=None, **changes):
        home = home or self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-home-"))
        terminal = Terminal("shell", *(words or ("-u", self.peer.address("ws"))), home=home, **changes)
        self.addCleanup(terminal.close)
        terminal.read_until("> ")
        return terminal

    def test_values_exceptions_and_lines_that_go_on(self):
        shell = self.open()
        shell.run("xs = [3, 1, 2]; xs.sort((a, b) -> b.compareTo(a)); xs", "$1 java.util.ArrayList (3) [3, 2, 1]")
        shell.run("for (x : xs) {", "..> ")
        shell.run("  y = x", "..> ")
        shell.run("}; y + 41", "42\n")
        shell.run("Integer.parseInt(\"x\")", "java.lang.NumberFormatException: For input string: \"x\"")
        shell.run("1 / 0", "/ by zero")
        shell.run("[{a: 1, b: \"x\"}, {a: 2, b: \"y\"}]", "(2 rows)")
        shell.run("\"\u00e9\u65e5\".length() + 100", "102\n")
        shell.run("\\q", "\\q")
        self.assertEqual(shell.process.wait(START_SECONDS), 0)

    def test_tab_completes_names_of_variables_members_and_classes(self):
        shell = self.open()
        shell.run("xs = new ArrayList()", "> ")
        shell.type("ArrL\t")
        shell.run(".class.getSimpleName().length() + 90", "99\n")
        shell.type("xs.ensureC\t")
        shell.read_until("apacity(")
        shell.type("\t")
        shell.read_until("ensureCapacity(int minCapacity) void")
        shell.run("5); 41 + 1", "42\n")
        shell.type("Math.floorMo\t")
        shell.read_until("d(")
        shell.type("\t")
        shell.read_until("floorMod(long x, int y) int")
        shell.run("7, 4) + 94", "97\n")
        shell.type("java.util.concurrent.atomic.AtomicBool\t")
        shell.run(".class.getSimpleName().length() + 80", "93\n")

    def test_history_outlives_the_shell(self):
        home = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-home-"))
        first = self.open("-u", self.peer.address("ws"), home=home)
        first.run("40 + 2", "42\n")
        first.run("  50 + 2", "52\n")
        first.read_until("> ")  # before the prompt the terminal itself would take the key
        first.type("\x04")
        self.assertEqual(first.process.wait(START_SECONDS), 0)
        second = self.open("-u", self.peer.address("ws"), home=home)
        second.type("\x1b[A\r")
        second.read_until("42\n")
        second.read_until("> ")
        second.type("\x12+ 2\r")
        second.read_until("42\n")
        self.assertEqual(Path(home, "state/jpeer/history").read_text(), "40 + 2\n")

    def test_a_paste_of_several_lines_is_one_entry(self):
        shell = self.open()
        shell.type("\x1b[200~s = 0\nfor (x : [1, 2]) {\n\ts = s + x\n}\ns + 100\x1b[201~")
        shell.read_until("s + 100")
        shell.run("", "103\n")

    def test_ctrl_c_ends_the_call_and_keeps_the_variables(self):
        shell = self.open()
        shell.run("x = 41", "> ")
        shell.run("System.out.println(\"cmd.asleep\"); Thread.sleep(60000)", "60000)")
        self.peer.await_stdout("cmd.asleep")
        shell.type("\x03")
        shell.read_until("> ")
        shell.type("not this\x03")
        shell.read_until("> ")
        shell.run("x + 1", "42\n")

    def test_ctrl_c_while_a_value_is_shown_ends_the_line(self):
        shell = self.open()
        shell.run("fixtures.Looks.waiting(); x = 40 + 2; x", "2; x")
        await_running(self.client, 1)
        shell.type("\x03")
        self.assertNotIn("42", shell.read_until("> "))
        shell.run("x", "there is no variable")

    def test_no_ctrl_c_at_a_prompt_is_lost(self):
        shell = self.open()
        for _ in range(300):  # as soon as the prompt is shown, before the shell waits for keys
            shell.type("\x03")
            shell.read_until("^C")
            shell.read_until("> ")
        shell.run("40 + 2", "42\n")

    def test_objects_without_a_variable_are_released(self):
        shell = self.open()
        shell.run("o = new Object(); w = new java.lang.ref.WeakReference(o)", "> ")
        shell.run("v = new java.lang.ref.WeakReference(new Object()); for (x : [new Object()]) y = x.hashCode()", "> ")
        shell.run("while (v.get() != null) System.gc(); (v.get() == null) + \" \" + (w.get() == null)", "true false")
        shell.run("\\refs", "java.lang.Object")
        shell.run("\\drop o", "> ")
        shell.run("while (w.get() != null) System.gc(); w.get() == null", "true\n")
        shell.run("o", "there is no variable o")

    def test_the_shell_connects_again_and_names_what_is_gone(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-back-") as folder:
            path = f"{folder}/s"
            first = Peer("--json-rpc", f"unix:{path}", addresses=False)
            self.addCleanup(first.close)
            shell = self.open(f"ws+unix:{path}")
            shell.run("m = new HashMap()", "> ")
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
            shell.run("m.size()", "The objects of the variables m are gone.")
            shell.read_until("> ")
            with Peer("--json-rpc", f"unix:{path}", addresses=False):
                eventually(lambda: "of a peer that has ended" in shell.run("m.size()", "> "), "the next attempt to connect")
                shell.run("Math.max(41, 42)", "42\n")
                shell.run("m.size()", "of a peer that has ended")

    def test_commands(self):
        shell = self.open()
        shell.run("\\?", "\\drop NAME ...")
        shell.run("\\d Runnable", "public abstract void run();")
        shell.run("\\x", "a column a line")
        shell.run("[{a: 1}]", "a | 1")
        shell.run("\\set json", "> ")
        shell.run("[1, {a: 2}]", "[1,{\"a\":2}]")
        shell.run("[1, 2] | tr 1 7", "[7,2]")
        shell.run("\\! echo $((6 * 7))", "42\n")
        with tempfile.NamedTemporaryFile("w+", suffix=".jp") as file:
            shell.run(f"\\o {file.name}", "> ")
            shell.run("1 + 1", "> ")
            shell.run("\\o", "> ")
            self.assertEqual(Path(file.name).read_text(), "2\n")
            Path(file.name).write_text("z = 41\n\nz + \n", encoding="utf-8")
            shell.run(f"\\i {file.name}", f"{file.name}:4:1: expected an expression")
        shell.run("\\nope", "there is no command \\nope")
        other = Peer("--name", "other")
        self.addCleanup(other.close)
        shell.run(f"\\open {other.address('ws')}", "> ")
        shell.run("\\open ws://127.0.0.1:1", "jpeer shell: ")

    def test_programs_of_the_system(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-edit-"))
        editor = Path(folder, "edit")
        editor.write_text("#!/bin/sh\necho \"${#1} + 1\" > $2\n", encoding="utf-8")
        editor.chmod(0o700)
        shell = self.open(VISUAL=f"{editor} {'a' * 300}")
        shell.run("\\e", "\n301\n")
        shell.run("\\! kill -PIPE $$; echo ignored", f"\nexit status {128 + signal.SIGPIPE}\n")
        shell.run("\\! false", "exit status 1")

    def test_a_pipe_is_no_part_of_a_comment_or_text(self):
        shell = self.open()
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-pipe-"))
        shell.run(f"x = 5 // a | touch {folder}/1\r1 + x", "\n6")
        shell.run(f"y = 6 /* b' | touch {folder}/2 */\r1 + y", "\n7")
        shell.run(f"z = \"\"\"\rc | touch {folder}/3\r\"\"\"\rz.length() + {len(folder) + 100}", f"\n{2 * len(folder) + 113}")
        shell.run("'|' + \"a|b\" + (false || true) | tr a-z A-Z", "\n|A|BTRUE")
        self.assertEqual(os.listdir(folder), [])


class Scripts(PeerCase):
    options = ()

    def script(self, text, *words, stdin=False):
        with tempfile.NamedTemporaryFile("w", suffix=".jp") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([BINARY, "shell", "-u", self.peer.address("ws"),
                                   *(() if stdin else ("-f", file.name)), *words], input=text if stdin else None,
                                  capture_output=True, text=True, env=environment(leaks=True), timeout=START_SECONDS)
            return done.stdout, done.stderr.replace(file.name, "FILE"), done.returncode

    def test_a_script_stops_at_its_first_error(self):
        for stdin, name in ((False, "FILE"), (True, "stdin")):
            self.assertEqual(self.script("x = 41\nx + 1\n\nx / 0\n\"never\"\n", stdin=stdin),
                             ("42\n", f"{name}:4:3: / by zero\n  x / 0\n    ^\n", 1))
            self.assertEqual(self.script("1\n2 +", stdin=stdin)[2], 2)
        out, errors, status = self.script("1\nInteger.parseInt(\"x\")\n2")
        self.assertEqual((out, status), ("1\n", 1))
        self.assertTrue(errors.startswith("FILE:2:9: java.lang.NumberFormatException"), errors)
        self.assertTrue(errors.endswith("\n  Integer.parseInt(\"x\")\n          ^\n"), errors)

    def test_options_after_the_address_are_options(self):
        for words, status, shown, said in (
                (["--read-only"], 3, "", "--rpc-idempotent 'java.lang.System.gc'"), ([], 0, "done\n", ""),
                (["--", "--read-only"], 0, "done\n", ""), (["--raed-only"], 2, "", "did you mean --read-only?"),
                (["-u", "ws://localhost:1"], 2, "", "the address is given twice"),
        ):
            with self.subTest(words=words):
                done = subprocess.run([BINARY, "shell", self.peer.address("ws"), *words], input="System.gc(); \"done\"\n",
                                      capture_output=True, text=True, env=environment(), timeout=START_SECONDS)
                self.assertEqual((done.returncode, done.stdout), (status, shown), done.stderr)
                self.assertIn(said, done.stderr)

    def test_arguments_and_the_first_line(self):
        self.assertEqual(self.script("#!/usr/bin/env -S jpeer shell -f\nargs[1] + args.size()\n", "a", "b"), ("b2\n", "", 0))

    def test_a_result_set_is_a_table_and_has_rows(self):
        rows = """rs = javax.sql.rowset.RowSetProvider.newFactory().createCachedRowSet(); m = new javax.sql.rowset.RowSetMetaDataImpl()
            m.setColumnCount(2); for (i : [1, 2]) { m.setColumnName(i, "c" + i); m.setColumnLabel(i, "c" + i); m.setColumnType(i, 4) }
            rs.setMetaData(m); for (i : [3, 4]) { rs.moveToInsertRow(); rs.updateInt(1, i); rs.updateInt(2, i * i); rs.insertRow() }
            rs.moveToCurrentRow(); rs.beforeFirst(); """
        done = run_to_end("shell", "-u", self.peer.address("ws"), "--table", "-e",
                          rows + "s = 0; for (r : rs) s = s + r.getInt(\"c2\"); s; rs.beforeFirst(); rs")
        self.assertEqual((done.stdout, done.stderr), ("25\n c1 | c2\n----+----\n  3 |  9\n  4 | 16\n(2 rows)\n", ""))

    def test_statements_of_the_command_line(self):
        done = run_to_end("shell", "-u", self.peer.address("ws"), "-e", "x = 1; x + 1; \"a\"")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("2\na\n", "", 0))
        self.assertEqual(run_to_end("shell", "-u", self.peer.address("ws"), "-f", "/no/such").returncode, 2)

    def test_a_command_that_fails_ends_the_script(self):
        for line, status in (("\\drop nope", 1), ("\\o /no/such/file", 1), ("\\set nope", 2), ("\\! exit 3", 1), ("\\e", 2),
                             ("\\o /dev/full\n2\n\\o", 1), ("\\nope", 2), ("\\d no.such.Name", 1)):
            with self.subTest(line):
                out, errors, code = self.script(f"1\n{line}\n3\n")
                self.assertEqual((out, code), ("1\n", status), errors)
                self.assertNotEqual(errors, "")

    def test_output_of_a_launched_peer(self):
        done = run_to_end("shell", "-cp", FIXTURES, "-e", "System.out.println(\"of Java\"); 1; System.out.println(\"again\"); 2")
        self.assertEqual((done.stdout, done.returncode), ("of Java\n1\nagain\n2\n", 0))
