"""jsonrpc-websocket: members are attributes, over one WebSocket. The library has no batches."""

import asyncio

from jsonrpc_base import ProtocolError
from jsonrpc_websocket import Server
from steps import ADDRESS, CALL, KEY, SERVER_ERROR, THROWN, done


async def main():
    server = Server(ADDRESS, timeout=60)
    await server.ws_connect()
    try:
        done("call", (await server.call(**CALL))["value"]["value"], "8")

        calculator = server.com.example.Calculator
        done("member", await asyncio.gather(calculator.add(5, 3), calculator.add(a=1, b=2)), [8, 3])

        try:
            answer = await calculator.divide(1, 0)
        except ProtocolError as error:
            code, message, reply = error.args
            answer = code, message, reply["error"]["data"]["throwable_type"]
        done("error", answer, (SERVER_ERROR, "Server error", THROWN))

        await server.java.lang.System.setProperty(KEY, "told", _notification=True)
        done("notification", await server.java.lang.System.getProperty(KEY), "told")
    finally:
        await server.close()


asyncio.run(main())
