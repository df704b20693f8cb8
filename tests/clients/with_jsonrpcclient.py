"""jsonrpcclient makes the messages and reads the answers; urllib sends them."""

import json
import urllib.request

from jsonrpcclient import Error, Ok, notification, parse, request
from steps import ADD, ADDRESS, CALL, DIVIDE, GET, KEY, SERVER_ERROR, SET, THROWN, done


def send(message):
    sent = urllib.request.Request(ADDRESS, json.dumps(message).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=60) as response:
        body = response.read()
    return parse(json.loads(body)) if body else None


answer = send(request("call", params=CALL))
done("call", (type(answer), answer.result["value"]["value"]), (Ok, "8"))

done("member", send(request(ADD, params={"a": 5, "b": 3})).result, 8)

answer = send(request(DIVIDE, params=(1, 0)))
done("error", (type(answer), answer.code, answer.data["throwable_type"]), (Error, SERVER_ERROR, THROWN))

done("notification", (send(notification(SET, params=(KEY, "told"))), send(request(GET, params=(KEY,))).result),
     (None, "told"))

first, second, third = send([request(ADD, params=(1, 2)), notification(SET, params=(KEY, "told again")),
                             request(DIVIDE, params=(1, 0)), request(GET, params=(KEY,))])
done("batch", (first.result, second.code, third.result), (3, SERVER_ERROR, "told again"))
