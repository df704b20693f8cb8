"""Runs the load generator, and the servers that it calls, on chosen cores."""

import contextlib
import json
import os
import subprocess
import tempfile

from support.peer import BUILD, environment

GENERATOR = BUILD / "bench/jpeer-bench"

TRANSPORTS = {"ws": "WebSocket", "http": "HTTP", "tcp": "ZeroMQ"}
UNIX_TRANSPORTS = {"ws+unix": "WebSocket-unix", "http+unix": "HTTP-unix", "ipc": "ZeroMQ-ipc"}
# The figures that every client reports for a run. A row has the same figures.
FIGURES = ("calls_per_second", "p50_us", "p99_us", "p999_us", "max_us", "server_us_per_call")
# Further figures, which only the generator reports: what the generator itself costs.
OWN_FIGURES = ("client_us_per_call",)


@contextlib.contextmanager
def pinned(core):
    """Processes that are started in the `with` block run only on this core; None: on any core."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_load(address, pid, workload, connections=1, in_flight=1, core=None, **options):
    """Runs the generator, and returns its figures. options: options of the generator, for example calls=1000,
    warm_up=0, canned=True."""
    command = [GENERATOR, "--json", "--to", address, "--watch", str(pid), "--workload", workload,
               "--connections", str(connections), "--in-flight", str(in_flight)]
    for name, value in options.items():
        if value is not False:
            command += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    with pinned(core):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return json.loads(done.stdout)


class Floor:
    """Floor (a): the peer's transports with canned answers to one workload."""

    PROGRAM = "jpeer-bench-floor"
    SCHEMES = (*TRANSPORTS, *UNIX_TRANSPORTS)
    ARGUMENTS = ()

    def __init__(self, workload, core=None):
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-bench-")
        with pinned(core):
            self.process = subprocess.Popen([BUILD / "bench" / self.PROGRAM, workload, self.folder.name, *self.ARGUMENTS],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env=environment())
        lines = [self.process.stdout.readline().strip() for _ in self.SCHEMES]
        self.addresses = {line.split(":", maxsplit=1)[0]: line for line in lines}

    @property
    def pid(self):
        return self.process.pid

    def address(self, scheme):
        return self.addresses[scheme]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.stdin.close()
        self.process.stdout.close()
        status = self.process.wait()
        self.folder.cleanup()
        if status != 0 and kind is None:
            raise SystemExit("the floor failed")


class ZmqEcho(Floor):
    """Floor (c): a bare ROUTER of libzmq with the same answers."""

    PROGRAM = "jpeer-bench-zmq-echo"
    SCHEMES = ("tcp", "ipc")


class CurveEcho(ZmqEcho):
    """The same with CURVE."""

    ARGUMENTS = ("curve",)
