"""rpc.discover through the binary: its document is valid, true, and enough to call a library by."""

import http.client
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from support.clients import TRANSPORTS, HttpClient, RpcError, WebSocketClient
from support.peer import ROOT, START_SECONDS, Peer
from support.peer_case import PeerCase

TOOLS = ("@open-rpc/meta-schema@1.14.9", "@open-rpc/schema-utils-js@2.2.1")
LANG3 = "org.apache.commons:commons-lang3:3.14.0"


def result_of(client, method, params=None):
    reply = client.request(method, params)
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"]


def discover(client, *classes):
    return result_of(client, "rpc.discover", {"classes": list(classes), "openrpc": True} if classes else None)


def by_name(document, name):
    return next(method for method in document["methods"] if method["name"] == name)


def openrpc_tools():
    """Fetches OpenRPC's own tools, once. Returns their folder, which is outside the tree."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise unittest.SkipTest("npm is not there to fetch OpenRPC's tools with")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "jpeer-tests" / "openrpc-tools"
    if not (folder / "node_modules/@open-rpc/schema-utils-js/package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        done = subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", *TOOLS], cwd=folder, timeout=300,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"OpenRPC's tools could not be fetched: {done.stderr[-300:]}")
    return folder


class Descriptions(PeerCase):
    options = ()

    def test_documents_are_valid(self):
        tools = openrpc_tools()
        with WebSocketClient(self.peer) as client, tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, document in (("own", discover(client)),
                                   ("java", discover(client, "fixtures.*", "com.example.*", "java.util.ArrayList")),
                                   ("empty", discover(client, "no.such.*"))):
                paths.append(Path(folder) / f"{name}.json")
                paths[-1].write_text(json.dumps(document), encoding="utf-8")
            done = subprocess.run(["node", ROOT / "tests/support/openrpc.mjs", tools, *paths], timeout=120,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(": valid"), 3, done.stdout)

    def test_the_examples_run(self):
        for transport in TRANSPORTS:
            with transport(self.peer) as client:
                ran = 0
                for method in discover(client)["methods"]:
                    for example in method["examples"]:
                        params = {param["name"]: param["value"] for param in example["params"]}
                        with self.subTest(transport=transport.name, method=method["name"], example=example["name"]):
                            self.assert_shown(example["result"]["value"], result_of(client, method["name"], params))
                            ran += 1
                self.assertGreaterEqual(ran, 13)

    def test_the_requests_run(self):
        for transport in TRANSPORTS:
            with transport(self.peer) as client:
                document = discover(client)
                options = document["components"]["schemas"]["RequestOptions"]["properties"]
                shown = set()
                for example in document["x-requests"]:
                    with self.subTest(transport=transport.name, example=example["name"]):
                        request = example["request"]
                        self.assert_shown(example["answer"], json.loads(client.exchange(json.dumps(request))))
                        for one in request if isinstance(request, list) else [request]:
                            shown.update(one.get("options", {}))
                # A request within a callback can only be shown while one waits (tests/conformance, callbacks).
                self.assertEqual(shown, set(options) - {"within"})
                for wrong in set(options):
                    reply = client.request("control", {"method": "ping"}, options={wrong: {"no": "such value"}})
                    self.assertIn(wrong, reply["error"]["data"]["message"])

    def assert_shown(self, shown, actual):
        """Compares an answer with the answer in the example. Refs, counts, and members that the example leaves out
        are not compared."""
        if isinstance(shown, dict) and isinstance(actual, dict):
            self.assertEqual(sorted(shown), sorted(actual))
            for name, value in shown.items():
                if name == "ref":
                    self.assertIsInstance(actual[name], int)
                elif name == "stack_trace":
                    self.assertIn(value[0].partition("(")[0], actual[name][0])
                elif name in ("constructors", "methods", "fields"):
                    for member in value:
                        self.assertIn(member, actual[name])
                elif isinstance(value, str) and value.startswith('{"objects":'):
                    self.assertEqual(sorted(json.loads(value)), sorted(json.loads(actual[name])))
                else:
                    self.assert_shown(value, actual[name])
        elif isinstance(shown, list) and isinstance(actual, list):
            self.assertEqual(len(shown), len(actual))
            for one, other in zip(shown, actual):
                self.assert_shown(one, other)
        else:
            self.assertEqual(shown, actual)

    def test_the_address_bar(self):
        address = urlsplit(self.peer.address("http"))
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request("GET", "/openrpc.json")
        response = connection.getresponse()
        body = response.read()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.getheader("Content-Type"), "application/json")
        connection.request("HEAD", "/openrpc.json")
        head = connection.getresponse()
        self.assertEqual((head.status, head.read()), (200, b""))
        connection.request("GET", "/rpc/rpc.discover?classes=fixtures.Calculator&openrpc=true")
        described = json.loads(connection.getresponse().read())["result"]
        connection.close()
        client = self.connect(HttpClient)
        self.assertEqual(json.loads(body), discover(client))
        self.assertEqual(described, discover(client, "fixtures.Calculator"))

    def test_the_servers_are_the_addresses(self):
        client = self.connect()
        self.assertEqual([server["url"] for server in discover(client)["servers"]], self.peer.facts["addresses"])

    def test_no_class_is_initialised(self):
        with WebSocketClient(self.peer) as client:
            self.assertTrue(by_name(discover(client, "fixtures.LoudInitializer"), "fixtures.LoudInitializer.touch"))
        self.assertNotIn("LoudInitializer initialised", self.peer.stdout())

    def test_too_long_a_document_names_the_limit(self):
        client = self.serve("--message-max", "100000")
        self.assert_fails(-32000, "message-max", discover, client, "java.**")


    def test_what_the_policy_says_is_idempotent_is_called_by_get(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\nidempotent:\n  - fixtures.Calculator.add\n"
                       "rules:\n  - class: fixtures.**\n    action: ALLOW\n")
            file.flush()
            with Peer("--rpc-policy", file.name, allow=False) as peer:
                address = urlsplit(peer.address("http"))
                connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
                for target, status, result in (("fixtures.Calculator.add?a=3&b=5", 200, 8),
                                               ("fixtures.Calculator.add?0=3&1=5", 200, 8),
                                               ("fixtures.Calculator.addLong?a=3&b=5", 405, None),
                                               ("java.lang.Math.abs?0=3", 500, None)):
                    connection.request("GET", f"/rpc/{target}")
                    response = connection.getresponse()
                    reply = json.loads(response.read())
                    self.assertEqual((response.status, reply.get("result")), (status, result), target)
                connection.close()


class DrivenByTheDocument(PeerCase):
    """A client that knows a library only from its document."""

    class Client:
        """A Python function for each method of the document; its arguments have the document's names."""

        def __init__(self, client, document):
            self.client = client
            self.methods = {method["name"]: method for method in document["methods"]}

        def __call__(self, name, *args):
            params = self.methods[name]["params"]
            assert len(params) == len(args), (name, params)
            return result_of(self.client, name, {param["name"]: arg for param, arg in zip(params, args)})

    def test_commons_lang3(self):
        jar = subprocess.run([ROOT / "tools/fetch-jar", LANG3], check=True, stdout=subprocess.PIPE,
                             text=True, timeout=4 * START_SECONDS).stdout.strip()
        client = self.serve(class_path=jar)
        package = "org.apache.commons.lang3"
        call = self.Client(client, discover(client, f"{package}.StringUtils", f"{package}.ArrayUtils",
                                            f"{package}.tuple.MutablePair"))
        self.assertEqual(call(f"{package}.StringUtils.capitalize", "hello"), "Hello")
        self.assertEqual(call(f"{package}.StringUtils.split-java.lang.String-char", "a,b", ","), ["a", "b"])
        self.assertEqual(call(f"{package}.StringUtils.join-int.array-char", [1, 2, 3], "+"), "1+2+3")
        self.assertEqual(call(f"{package}.StringUtils.isBlank", None), True)
        self.assertEqual(call(f"{package}.ArrayUtils.toObject-int.array", [1, 2]), [1, 2])
        pair = call(f"{package}.tuple.MutablePair.new-java.lang.Object-java.lang.Object", "left", 2)
        self.assertEqual(call(f"{package}.tuple.MutablePair.getLeft", pair), "left")
        self.assertIsNone(call(f"{package}.tuple.MutablePair.setRight", pair, [1, {"a": 2}]))
        self.assertEqual(call(f"{package}.tuple.MutablePair.getRight", pair), [1, {"a": 2}])
