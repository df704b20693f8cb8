"""The demo: an in-memory H2 database, opened, filled and read from Python through jpeer.

usage: h2.py JPEER H2_JAR
Prints every message that goes over the wire. Exits 0 when everything went as it should.
"""

import asyncio
import base64
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import websockets

SHOWN = 240  # characters of a message
ALLOWED = ("java.sql.Connection", "java.sql.DriverManager", "java.sql.PreparedStatement", "java.sql.ResultSet",
           "java.sql.Statement")


def heading(text):
    print(f"\n== {text}")


def show(arrow, message):
    print(f"   {arrow} {message if len(message) <= SHOWN else message[:SHOWN] + f'... ({len(message)} bytes)'}")


class Denied(Exception):
    """The policy said no."""


class Client:
    """Objects of a peer, over one WebSocket."""

    def __init__(self, socket):
        self.socket = socket
        self.last_id = 0

    async def request(self, operation, /, **params):
        self.last_id += 1
        request = json.dumps({"jsonrpc": "2.0", "id": self.last_id, "method": operation, "params": params},
                             separators=(",", ":"), ensure_ascii=False)
        show("-->", request)
        await self.socket.send(request)
        reply = await self.socket.recv()
        show("<--", reply)
        reply = json.loads(reply)
        if "error" in reply:
            kind = Denied if reply["error"]["code"] == -32001 else RuntimeError
            raise kind(reply["error"]["data"]["message"])
        return reply["result"].get("value")

    async def call(self, type_name, method, *args, instance=None):
        """The result's ref where it is an object, else its value."""
        params = {"type": type_name, "method": method}
        if instance is not None:
            params["instance"] = instance
        if args:
            params["args"] = list(args)
        result = await self.request("call", **params)
        if result is None or result["null"]:
            return None
        return result.get("ref", result.get("value"))


def text(value):
    return {"type": "String", "value": value}


async def use_database(client):
    heading("Open an in-memory database, as Java would: java.sql.DriverManager.getConnection(...)")
    connection = await client.call("java.sql.DriverManager", "getConnection", text("jdbc:h2:mem:demo"))

    heading("Create a table and fill it")
    statement = await client.call("java.sql.Connection", "createStatement", instance=connection)
    await client.call("java.sql.Statement", "execute",
                      text("create table planet(name varchar(20) primary key, moons int)"), instance=statement)
    insert = await client.call("java.sql.Connection", "prepareStatement",
                               text("insert into planet values (?, ?)"), instance=connection)
    for name, moons in (("Earth", 1), ("Mars", 2), ("Sätürn 🪐", 146)):
        await client.call("java.sql.PreparedStatement", "setString", {"type": "int", "value": 1}, text(name),
                          instance=insert)
        await client.call("java.sql.PreparedStatement", "setInt", {"type": "int", "value": 2},
                          {"type": "int", "value": moons}, instance=insert)
        await client.call("java.sql.PreparedStatement", "executeUpdate", instance=insert)

    heading("Query it and read the result set")
    rows = await client.call("java.sql.Statement", "executeQuery",
                             text("select name, moons from planet order by moons"), instance=statement)
    found = []
    while await client.call("java.sql.ResultSet", "next", instance=rows) == "true":
        name = await client.call("java.sql.ResultSet", "getString", text("NAME"), instance=rows)
        moons = await client.call("java.sql.ResultSet", "getInt", text("MOONS"), instance=rows)
        found.append((name, int(moons)))
    print(f"\n   found: {found}")
    assert found == [("Earth", 1), ("Mars", 2), ("Sätürn 🪐", 146)], found

    heading("An error is Java's own")
    try:
        await client.call("java.sql.Statement", "execute", text("select * from nowhere"), instance=statement)
        raise AssertionError("a query of a missing table succeeded")
    except RuntimeError as error:
        print(f"\n   raised: {str(error).splitlines()[0]}")
    return connection, [statement, insert, rows]


async def look_around(client):
    heading("Ask what may be called: the policy allows the classes that this program uses, and nothing of java.lang")
    result = await client.request("meta", method="fetch_classes_info", args=[
        {"name": "compress_encode", "type": "boolean", "value": True},
        {"name": "include_classes", "type": "String[]",
         "value": ["java.sql.Statement", "java.sql.ResultSet", "java.lang.Runtime"]}])
    classes = json.loads(gzip.decompress(base64.b64decode(result["value"])))
    for described in classes:
        names = sorted({method["name"] for method in described["methods"]})
        print(f"   {described['className']}: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}")
    assert [c["className"] for c in classes] == ["java.sql.ResultSet", "java.sql.Statement"], classes

    heading("Try what is not allowed")
    for type_name, method in (("java.lang.Runtime", "getRuntime"), ("java.lang.System", "exit")):
        try:
            await client.call(type_name, method)
            raise AssertionError(f"{type_name}.{method} was allowed")
        except Denied as denial:
            print(f"   denied: {denial}")


async def clean_up(client, connection, objects):
    heading("Clean up: close, delete objects one by one, then the session")
    await client.call("java.sql.Connection", "close", instance=connection)
    await client.request("control", method="delete_object", args=[{"ref": ref} for ref in objects])
    await client.request("control", method="delete_session")


async def run_client(address):
    async with websockets.connect(address) as socket:
        client = Client(socket)
        connection, objects = await use_database(client)
        await look_around(client)
        await clean_up(client, connection, objects)


def start_peer(binary, jar, ready_file):
    command = [binary, "run", "--json-rpc", "auto", "--as-service", "--name", "demo", "--ready-file", ready_file,
               "--rpc-allow", ",".join(ALLOWED), "-cp", jar]
    heading("Start the peer")
    print("   $ " + shlex.join(command))
    peer = subprocess.Popen(command)
    while not os.path.exists(ready_file):
        if peer.poll() is not None:
            sys.exit(f"the peer ended with status {peer.returncode}")
        time.sleep(0.01)
    with open(ready_file, encoding="utf-8") as file:
        return peer, json.load(file)


def main():
    binary, jar = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        peer, facts = start_peer(binary, jar, os.path.join(folder, "ready.json"))
        try:
            address = next(a for a in facts["addresses"] if a.startswith("ws://"))
            asyncio.run(run_client(address))
        finally:
            heading("Stop the peer with SIGTERM")
            peer.send_signal(signal.SIGTERM)
            status = peer.wait(timeout=30)
        print(f"   it ended with status {status}\n")
        sys.exit(status)


if __name__ == "__main__":
    main()
