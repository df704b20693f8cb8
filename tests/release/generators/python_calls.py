"""usage: python_calls.py ADDRESS PACKAGE CALLS: runs the calls of that JSON file through the generated client."""

import asyncio
import inspect
import json
import re
import sys

address, package, calls = sys.argv[1:]
sys.path.insert(0, package)

from jpeer_ws_client import client as generated  # noqa: E402
from jsonrpcobjects.errors import JSONRPCError  # noqa: E402
from py_undefined import Undefined  # noqa: E402
from pydantic import BaseModel  # noqa: E402

# The document's names in the generator's spelling.
METHODS = dict(re.findall(r'method_name="(\w+)"\s*\)\s*async def (\w+)\(', inspect.getsource(generated)))


def given(value, kept):
    if isinstance(value, dict) and "$" in value:
        return kept[value["$"]]
    return [given(element, kept) for element in value] if isinstance(value, list) else value


def plain(value):
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value


async def result_of(client, call, kept):
    try:
        return await getattr(client, METHODS[call["method"]])(*given(call["arguments"], kept))
    except JSONRPCError as error:
        return "!" + error.rpc_error.data["throwable_type"]


async def main():
    counts = {"passed": 0, "failed": 0}
    kept = {"absent": Undefined}
    client = generated.JpeerClient({}, address)
    await client.connect()
    with open(calls, encoding="utf-8") as file:
        for call in json.load(file):
            try:
                result = await asyncio.wait_for(result_of(client, call, kept), 60)
            except Exception as error:  # a fault of the generated client is reported, and the other calls run
                result = repr(error)
            if call["kept_as"] is not None:
                kept[call["kept_as"]] = result
                good = isinstance(result, BaseModel) and result.ref > 0
            else:
                good = plain(result) == call["result"]
            counts["passed" if good else "failed"] += 1
            if not good:
                print(f"failed: {call['method']}: {plain(result)!r} is not {call['result']!r}")
    await client.close()
    print(json.dumps(counts))


asyncio.run(main())
