"""py4j_sort.py JAR COUNT SERVER_CORE CLIENT_CORE: sorts in Java with a comparator in Python through Py4J.

Prints a line of JSON.
"""

import json
import os
import random
import sys
import time

from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway

WARM_SORTS = 3


class Comparator:
    calls = 0

    def compare(self, left, right):
        Comparator.calls += 1
        return (left > right) - (left < right)

    class Java:
        implements = ["java.util.Comparator"]


def main():
    jar, (count, server_core, client_core) = sys.argv[1], map(int, sys.argv[2:])
    os.sched_setaffinity(0, {server_core})
    port, token = launch_gateway(jarpath=jar, enable_auth=True, die_on_exit=True)
    os.sched_setaffinity(0, {client_core})
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token),
                          callback_server_parameters=CallbackServerParameters(port=0))
    server = gateway.get_callback_server()
    client = gateway.java_gateway_server.getCallbackClient()
    gateway.java_gateway_server.resetCallbackClient(client.getAddress(), server.get_listening_port())
    numbers = gateway.jvm.java.util.ArrayList()
    chosen = random.Random(1)
    for _ in range(count):
        numbers.add(chosen.randrange(10**9))
    for _ in range(WARM_SORTS):
        gateway.jvm.java.util.Collections.sort(gateway.jvm.java.util.ArrayList(numbers), Comparator())
    Comparator.calls = 0
    began = time.perf_counter()
    gateway.jvm.java.util.Collections.sort(numbers, Comparator())
    elapsed = time.perf_counter() - began
    assert numbers[0] == min(numbers)
    print(json.dumps({"us": elapsed * 1e6 / Comparator.calls, "comparisons": Comparator.calls}))
    gateway.shutdown()


if __name__ == "__main__":
    main()
