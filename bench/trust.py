"""What evidence costs: HTTP with a token in each request, and ZeroMQ with CURVE, each beside the same without principals.

The peers alternate, and of each the best of the runs counts: other work on the machine only makes a run slower. Rows:
placement, transport "HTTP with tokens" or "ZeroMQ with CURVE", workload "add", connections, in_flight, and `figures` of
"jpeer", of "plain", a peer without principals, and for CURVE of "zmq-echo", libzmq alone with CURVE.
"""

import contextlib
import hashlib
import tempfile
from pathlib import Path

from bench.load import CurveEcho, pinned, run_load
from bench.loadtable import placements, shape_name
from bench.report import ratio
from support.peer import Peer

NAME = "trust"
WHAT = "tokens over HTTP and CURVE over ZeroMQ, beside peers without them"

TOKENS, CURVE = "HTTP with tokens", "ZeroMQ with CURVE"
TOKEN = "jp_" + "t" * 43
# Of bench/curve.h.
SERVER_KEYS = ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")
CLIENT_KEY = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
PRINCIPALS = f"""principals:
  - name: app
    tokens: ["sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}"]
    curve-keys: ["{CLIENT_KEY}"]
"""
SHAPES = {TOKENS: ((1, 1), (16, 1)), CURVE: ((1, 1), (1, 64), (16, 16))}
TURNS = 5  # in a run
COLUMNS = ("placement", "transport", "shape", "p50 us", "plain", "ratio", "calls/s", "plain", "ratio", "p50 / CURVE alone",
           "calls/s / CURVE alone")


def cells(row):
    ours, plain, echo = (row["figures"].get(name, {}) for name in ("jpeer", "plain", "zmq-echo"))
    return (row["placement"], row["transport"], shape_name(row["connections"], row["in_flight"]), f"{ours['p50_us']:.1f}",
            f"{plain['p50_us']:.1f}", ratio(ours["p50_us"], plain["p50_us"]), f"{ours['calls_per_second']:,.0f}",
            f"{plain['calls_per_second']:,.0f}", ratio(ours["calls_per_second"], plain["calls_per_second"]),
            ratio(ours["p50_us"], echo.get("p50_us")), ratio(ours["calls_per_second"], echo.get("calls_per_second")))


@contextlib.contextmanager
def servers(core):
    """The servers of each transport: an object, and options of the generator."""
    with contextlib.ExitStack() as stack, pinned(core):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jpeer-bench-")))
        for name, text in (("people.yaml", PRINCIPALS), ("peer.key", 'curve\n    public-key = "%s"\n    secret-key = "%s"\n' % SERVER_KEYS)):
            (folder / name).touch(0o600)
            (folder / name).write_text(text, encoding="ascii")
        plain = stack.enter_context(Peer("--log-level", "warn"))
        ours = stack.enter_context(Peer("--log-level", "warn", "--principals", folder / "people.yaml", "--zmq-curve-key",
                                        folder / "peer.key"))
        echo = stack.enter_context(CurveEcho("add"))
        yield {TOKENS: {"plain": (plain, "http", {}), "jpeer": (ours, "http", {"token": TOKEN})},
               CURVE: {"plain": (plain, "tcp", {}), "jpeer": (ours, "tcp", {"curve": True}),
                       "zmq-echo": (echo, "tcp", {"curve": True, "canned": True})}}


def run(server, connections, in_flight, core, **options):
    target, scheme, more = server
    return run_load(target.address(scheme), target.pid, "add", connections, in_flight, core, **more, **options)


def best_of(runs):
    return {"p50_us": min(each["p50_us"] for each in runs), "calls_per_second": max(each["calls_per_second"] for each in runs),
            "server_us_per_call": min(each["server_us_per_call"] for each in runs)}


def measure(options):
    for placement, server_core, client_core in placements(options.placements):
        with servers(server_core) as every:
            for transport, compared in every.items():
                for connections, in_flight in SHAPES[transport]:
                    made = {name: [] for name in compared}
                    for _ in range(TURNS * options.runs):
                        for name, server in compared.items():
                            made[name].append(run(server, connections, in_flight, client_core, warm_up=options.warm_up,
                                                  seconds=options.seconds / TURNS))
                    yield {"placement": placement, "transport": transport, "workload": "add", "connections": connections,
                           "in_flight": in_flight, "figures": {name: best_of(runs) for name, runs in made.items()}}


def smoke():
    with servers(None) as every:
        for compared in every.values():
            for server in compared.values():
                assert run(server, 2, 2, None, calls=8, warm_up=2)["calls"] == 8
