"""A peer that is killed every minute, and started again at its address: no answer may name a wrong object.

Refs begin at 1 in each peer, so that each number that a client has kept soon names another object. The threads hold
lists in the present peer and in earlier peers, and each list has words of its own. Each thread also uses the lists of
the other threads. A thread must read the word that was written, or the object must be stale; and only objects of an
earlier peer may be stale.
"""

import json
import random
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import jpeer
from support.peer import BINARY, START_SECONDS, environment

SCHEMES = ("ws+unix", "http+unix", "shm")
THREADS = 3  # for each connection
# Lists of a connection in each life. Half of them are never dropped, so that their refs are the smallest numbers.
HELD_MAX = 60
WORDS_MAX = 8  # in a list
FAULTS_MAX = 20  # faults that are reported; all faults are counted
LIVES = 4  # the total number of lists that are held, made in the present run of the peer and in earlier runs
CALL_SECONDS = 30
COUNTS = ("read", "written", "stale", "refused", "made", "wrong")


class Life:
    """The running peer. `number` is how many peers have run before it."""

    def __init__(self, folder):
        self.folder = folder
        self.number = 0
        self.process = None
        self.start()

    def start(self):
        ready = Path(self.folder, "ready.json")
        ready.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [BINARY, "run", "--ready-file", ready, "--json-rpc", f"unix:{self.folder}/json", "--rpc-default-action",
             "ALLOW", "--first-ref", "1", "--log-level", "warn", "--as-service"],
            stdin=subprocess.DEVNULL, env=environment())
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the peer has not started")
            time.sleep(0.005)
        self.addresses = json.loads(ready.read_text(encoding="utf-8"))["addresses"]

    def url(self, scheme):
        if scheme == "shm":
            return self.url("ws+unix").replace("ws+unix:", "shm:", 1)
        return next(each for each in self.addresses if each.startswith(f"{scheme}:"))

    def restart(self):
        self.kill()
        self.number += 1  # now, while no peer runs: all objects so far belong to an earlier peer
        self.start()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Held:
    """A list in the peer. Only the thread that holds `lock` uses the list."""

    def __init__(self, handle, words, life):
        self.handle, self.words, self.life = handle, words, life
        self.lock = threading.Lock()
        self.is_unsure = False  # a call that writes got no answer, so the peer may have run the call or not


class Crowd:
    """The threads of one connection, and the lists that they hold together."""

    def __init__(self, scheme, life, seed):
        self.scheme, self.life = scheme, life
        self.java = jpeer.connect(life.url(scheme), timeout=CALL_SECONDS, reconnects=True)
        self.list_class = self.java.java.util.ArrayList
        self.held = {}  # the lists, by the number of the life
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(COUNTS, 0)
        self.faults = []
        self.is_over = False
        self.names = 0
        self.threads = [threading.Thread(target=self.run, args=(random.Random(f"{seed} {scheme} {number}"),))
                        for number in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def run(self, chance):
        try:
            while not self.is_over:
                self.step(chance)
        except BaseException as error:
            self.note_fault(f"a thread has ended: {error!r}")

    def step(self, chance):
        with self.lock:
            present = self.held.setdefault(self.life.number, [])
            is_full = len(present) >= HELD_MAX
            if is_full and chance.random() < 0.02:
                del present[chance.randrange(HELD_MAX // 2, HELD_MAX)]
            held = chance.choice([*self.held.values()])
            each = chance.choice(held) if held else None
        if not is_full or each is None:
            self.make()
        elif each.lock.acquire(blocking=False):
            try:
                self.use(each, chance)
            finally:
                each.lock.release()

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def note_fault(self, text):
        with self.lock:
            self.counts["wrong"] += 1
            if len(self.faults) < FAULTS_MAX:
                self.faults.append(f"{self.scheme}: {text}")

    def make(self):
        with self.lock:
            self.names += 1
            word = f"{self.scheme} {self.names}"
        before = self.life.number
        try:
            handle = self.list_class([word])
        except ConnectionError:
            self.count("refused")
            time.sleep(0.01)
            return
        if self.life.number != before:
            return  # the list may belong to the old or to the new peer, so it is dropped without a check
        with self.lock:
            self.counts["made"] += 1
            self.held.setdefault(before, []).append(Held(handle, [word], before))
            for life in [*self.held]:
                if life <= before - LIVES:
                    del self.held[life]

    def use(self, each, chance):
        before = self.life.number
        word = f"more {chance.random()}"
        writes = chance.random() < 0.3
        try:
            if writes and len(each.words) == WORDS_MAX:
                each.handle.clear()
                each.words.clear()
            elif writes:
                each.handle.add(word)
                each.words.append(word)
            else:
                found = list(each.handle) if chance.random() < 0.5 else str(each.handle)
        except jpeer.StaleObject as error:
            self.count("stale")
            if each.life == before == self.life.number:
                self.note_fault(f"life {before}: {each.words} is stale, although its peer runs: {error}")
            return
        except ConnectionError:
            self.count("refused")
            each.is_unsure |= writes
            time.sleep(0.01)
            return
        self.count("written" if writes else "read")
        if each.life != before:
            self.note_fault(f"life {before}: an object of life {each.life} has answered: {each.words}")
        elif not writes and not each.is_unsure and found not in (each.words, f"[{', '.join(each.words)}]"):
            self.note_fault(f"life {before}: {found!r} instead of {each.words}")

    def close(self):
        self.is_over = True
        for thread in self.threads:
            thread.join(CALL_SECONDS * 2)
        if any(thread.is_alive() for thread in self.threads):
            self.note_fault("a thread does not end")
        self.java.close()


def run_restarts(seconds, every, seed):
    """Returns the number of kills, and for each scheme the counts and the faults of its threads."""
    with tempfile.TemporaryDirectory(prefix="jpeer-soak-") as folder:
        life = Life(folder)
        crowds = []
        try:
            crowds = [Crowd(scheme, life, seed) for scheme in SCHEMES]
            end = time.monotonic() + seconds
            while time.monotonic() + every < end:
                time.sleep(every)
                life.restart()
            time.sleep(max(0, end - time.monotonic()))
        finally:
            for crowd in crowds:
                crowd.close()
            life.kill()
        return life.number, {crowd.scheme: (crowd.counts, crowd.faults) for crowd in crowds}
