"""start.py MODULE ARGUMENT...: starts a JVM through one library, calls it once, ends it, and writes the milliseconds of
each step as JSON: import, start (to the end of the first call) and close."""

import json
import sys
import time


def jpeer_library(*_):
    import jpeer
    yield "import"
    java = jpeer.launch(allow=["jdk:java.lang.Math"])
    check(java.java.lang.Math.addExact(1, 2))
    yield "start"
    java.close()
    yield "close"


def jpype_library():
    import jpype
    yield "import"
    jpype.startJVM()
    check(jpype.JClass("java.lang.Math").addExact(1, 2))
    yield "start"
    jpype.shutdownJVM()
    yield "close"


def py4j_library(jar, *_):
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
    yield "import"
    port, token = launch_gateway(jarpath=jar, enable_auth=True, die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    check(gateway.jvm.java.lang.Math.addExact(1, 2))
    yield "start"
    gateway.shutdown()
    yield "close"


def check(total):
    if total != 3:
        raise AssertionError(f"1 + 2 is {total}")


def main():
    steps = globals()[sys.argv[1]](*sys.argv[2:])
    elapsed, began = {}, time.perf_counter()
    for step in steps:
        ended = time.perf_counter()
        elapsed[step] = (ended - began) * 1e3
        began = time.perf_counter()
    print(json.dumps(elapsed))


if __name__ == "__main__":
    main()
