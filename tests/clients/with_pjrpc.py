"""pjrpc over HTTP, with its backend for requests."""

from pjrpc import Request
from pjrpc.client import JsonRpcError
from pjrpc.client.backend.requests import Client
from steps import ADD, ADDRESS, CALL, DIVIDE, GET, KEY, SERVER_ERROR, SET, THROWN, done

with Client(ADDRESS) as client:
    # client.call("call", **CALL) is not possible, because it has a parameter `method` itself.
    answer = client.send(Request(id="a", method="call", params=CALL))
    done("call", answer.unwrap_result()["value"]["value"], "8")

    done("member", (client.call(ADD, a=5, b=3), client.call(ADD, 5, 3)), (8, 8))

    try:
        answer = client.call(DIVIDE, 1, 0)
    except JsonRpcError as error:
        answer = error.code, error.data["throwable_type"]
    done("error", answer, (SERVER_ERROR, THROWN))

    client.notify(SET, KEY, "told")
    done("notification", client.call(GET, KEY), "told")

    with client.batch() as batch:
        batch.call(ADD, 1, 2)
        batch.notify(SET, KEY, "told again")
        batch.call(GET, KEY)
    done("batch", list(batch.get_results()), [3, "told again"])
