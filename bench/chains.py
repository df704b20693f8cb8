"""Ten steps over a link with a delay. Each step needs the result of the step before. The steps are made as ten calls,
and as one batch in which each step names the result that it needs.

A row has a `key`, what was `measured` in `unit`, its `floor` from the same run (one round trip of a ping over the same
link), and the `figure` to compare with a target.
"""

import json
import statistics
import time
from urllib.parse import urlsplit

from bench import process
from bench.delay import DelayedLink
from support.clients import WebSocketClient
from support.peer import Peer

NAME = "chains"
WHAT = "ten steps, each of which needs the result before it, over a link with 1 ms of delay each way"

DELAY_SECONDS = 0.001
CLASS = "java.lang.StringBuilder"
STEPS = 10
PING = {"method": "control", "params": {"method": "ping"}}

COLUMNS = process.COLUMNS
cells = process.cells


class LinkedPeer:
    """Stands in for the peer when a client is made: the client then connects to the near end of the link."""

    def __init__(self, peer, link):
        self.clients = peer.clients
        self.port = link.port

    def address(self, _scheme):
        return f"ws://127.0.0.1:{self.port}/rpc"


def request(number, content):
    return json.dumps({"jsonrpc": "2.0", "id": number, **content})


def ask(client, number, content):
    answer = json.loads(client.exchange(request(number, content)))
    assert "result" in answer, answer
    return answer["result"]


def new():
    return {"method": "new", "params": {"type": CLASS}}


def append(instance):
    return {"method": "call", "params": {"type": CLASS, "method": "append", "instance": instance, "args": ["x"]}}


def show(instance):
    return {"method": "call", "params": {"type": CLASS, "method": "toString", "instance": instance}}


def ten_calls(client):
    instance = ask(client, 0, new())["value"]["ref"]
    for number in range(1, STEPS - 1):
        instance = ask(client, number, append(instance))["value"]["ref"]
    return ask(client, STEPS - 1, show(instance))["value"]["value"]


def one_batch(client):
    steps = [{**new(), "options": {"keep": False}}]
    steps += [{**append({"result": number - 1}), "options": {"keep": False}} for number in range(1, STEPS - 1)]
    steps += [show({"result": STEPS - 2})]
    message = "[" + ",".join(request(number, step) for number, step in enumerate(steps)) + "]"
    return json.loads(client.exchange(message))[-1]["result"]["value"]["value"]


def one_ping(client):
    ask(client, 0, PING)
    return "x" * (STEPS - 2)


def median_ms(client, chain, rounds):
    elapsed = []
    for _ in range(rounds):
        began = time.perf_counter()
        made = chain(client)
        elapsed.append((time.perf_counter() - began) * 1000)
        assert made == "x" * (STEPS - 2), made
    return statistics.median(elapsed)


def measure(_options, rounds=200):
    with Peer() as peer:
        address = urlsplit(peer.address("ws"))
        with DelayedLink(address.hostname, address.port, DELAY_SECONDS) as link, \
                WebSocketClient(LinkedPeer(peer, link)) as client:
            for chain in (ten_calls, one_batch):
                median_ms(client, chain, 5)
            floor = median_ms(client, one_ping, rounds)
            calls = median_ms(client, ten_calls, rounds // 4 + 1)
            batch = median_ms(client, one_batch, rounds)
    yield process.row("chain-calls-ms", "ten calls, one after the other", calls, "ms", floor)
    yield process.row("chain-batch-ms", "one batch of ten, each naming the result before it", batch, "ms", floor)


def smoke():
    made = list(measure(None, rounds=2))
    assert [row["key"] for row in made] == ["chain-calls-ms", "chain-batch-ms"], made
