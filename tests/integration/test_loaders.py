"""Classes that the application's class loader does not find, over real sockets and on each JDK: a jar with jars in it, a
jar that is added at run time, redeployment, and loaders that block. tests/conformance/loaders has the rules."""

import json
import threading
import time

from support.clients import HttpClient, RpcError, WebSocketClient, ref, typed
from support.peer import FIXTURES, environment, eventually
from support.peer_case import PeerCase, on_each_jdk

BEYOND = FIXTURES.parent / "beyond.jar"
FAT = FIXTURES.parent / "fat.jar"
LOADING = "fixtures.Loading"
BEAN = "beyond.Bean"


def with_loader(client, loader, verb, **params):
    """Sends a request with the option `loader`. Returns the value object of the result."""
    reply = client.request(verb, params, options={"loader": loader})
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"].get("value")


class FatJar(PeerCase):
    """An application whose main makes a loader for the jars within its jar."""

    def start_fat(self, options, *arguments):
        return self.serve(*options, application=("fixtures.FatMain", *arguments))

    def await_main(self, client, question):
        eventually(lambda: client.call("fixtures.FatMain", question) == "true", question)

    def use_bean(self, client):
        self.assertEqual(client.call(BEAN, "loaderName"), "fat")
        bean = client.new(BEAN, "mine")
        self.assertEqual(client.call(BEAN, "help", on=bean), "helped mine")
        self.assertEqual(client.call("beyond.dep.Helper", "help", "you", on=client.new("beyond.dep.Helper")), "helped you")
        self.assertEqual(client.call("beyond.Bean$Part", "whole"), "part of fat")
        self.assertEqual(client.call(BEAN, "paint", typed("beyond.Bean$Color", "RED")), "RED of fat")
        for number in range(5):
            self.assertEqual(client.call(BEAN, "add", number, 3), str(number + 3))
        palette = client.new("beyond.Bean$Palette")
        client.call("java.util.Map", "putAll", {"value": {"RED": "warm"}}, on=palette)
        self.assertEqual(client.call("java.util.Map", "get", typed("beyond.Bean$Color", "RED"), on=palette), "warm")

    @on_each_jdk
    def test_a_bean_is_reached_when_main_has_returned(self, options):
        self.start_fat(options)
        for client in self.each(WebSocketClient, HttpClient):
            self.await_main(client, "hasMainReturned")
            self.use_bean(client)

    @on_each_jdk
    def test_a_bean_is_reached_while_main_runs_and_when_it_has_thrown(self, options):
        client = self.start_fat(options, "stay")
        self.await_main(client, "hasStarted")
        self.use_bean(client)
        self.assertEqual(client.call("fixtures.FatMain", "hasMainReturned"), "false")
        client = self.start_fat(options, "throw")
        self.await_main(client, "hasMainReturned")
        self.use_bean(client)
        client.call("fixtures.FatMain", "end")
        self.assertEqual(self.peer.wait(), 1)
        self.assertIn("java.lang.IllegalStateException: main throws", self.peer.stderr())


class ListedClasses(PeerCase):
    """Classes that fetch_classes_info and rpc.discover list can be called: also classes of jars within jars."""

    NAMES = [BEAN, "beyond.Bean$Color", "beyond.Bean$Palette", "beyond.Bean$Part", "beyond.dep.Helper"]

    def listed(self, client):
        arguments = [{"name": "compress_encode", "value": False}, {"name": "include_classes", "value": self.NAMES}]
        answer = client.request("meta", {"method": "fetch_classes_info", "args": arguments})
        info = [one["className"] for one in json.loads(answer["result"]["value"]["value"])]
        document = client.request("rpc.discover", {"classes": ["beyond.**"]})["result"]
        described = {method["name"].partition("-")[0].rpartition(".")[0] for method in document["methods"]}
        # Enums and interfaces that other tests use are not found only by their name.
        self.assertEqual(described - {"beyond.Bean$Color", "beyond.Listener"}, set(info) - {"beyond.Bean$Color"})
        return info

    @on_each_jdk
    def test_what_the_loader_of_main_finds_is_listed_and_called(self, options):
        self.start(*options, class_path=FAT, application=("fixtures.FatMain",))
        for client in self.each(WebSocketClient, HttpClient):
            while client.call("fixtures.FatMain", "hasMainReturned") != "true":
                time.sleep(0.01)
            self.assertEqual(self.listed(client), self.NAMES)
            self.assertEqual(client.call(BEAN, "add", 5, 3), "8")
            self.assertEqual(client.request("beyond.Bean.add", [5, 3])["result"], 8)
            self.assertEqual(client.request("beyond.Bean$Part.whole")["result"], "part of fat")
            helper = client.request("beyond.dep.Helper.new")["result"]
            self.assertEqual(client.request("beyond.dep.Helper.help", [helper, "you"])["result"], "helped you")

    @on_each_jdk
    def test_loaded_classes_are_listed(self, options):
        """A class is not listed any more after it was unloaded, or if two loaders have defined it."""
        client = self.serve(*options, class_path=FAT)
        loader = client.call(LOADING, "own", "one")
        client.call("java.lang.ClassLoader", "loadClass", BEAN, on=loader)
        self.assertEqual(self.listed(client), [BEAN])
        self.assertEqual(client.request("beyond.Bean.add", [5, 3])["result"], 8)
        other = client.call(LOADING, "own", "other")
        client.call("java.lang.ClassLoader", "loadClass", BEAN, on=other)
        self.assertEqual(self.listed(client), [])


class AddedJar(PeerCase):
    """A URLClassLoader that the client makes."""

    def load(self, client):
        url = client.call("java.net.URI", "toURL", on=client.call("java.net.URI", "create", BEYOND.as_uri()))
        loader = client.new("java.net.URLClassLoader", typed("java.net.URL[]", [ref(url)]))
        error = self.failure(client.call, BEAN, "add", 5, 3)
        self.assertEqual(error.throwable, "java.lang.ClassNotFoundException")
        return loader

    @on_each_jdk
    def test_classes_of_an_added_jar_are_reached(self, options):
        client = self.serve(*options)
        loader = self.load(client)
        made = with_loader(client, loader, "new", type=BEAN, args=["added"])
        self.assertEqual(client.call(BEAN, "help", on=made["ref"]), "helped added")
        self.assertEqual(client.call(BEAN, "add", 5, 3), "8")  # the class is loaded by now
        self.assertEqual(with_loader(client, loader, "call", type="java.util.Objects", method="toString",
                                     args=[typed("beyond.Bean$Color", "GREEN")])["value"], "GREEN")


class Redeployment(PeerCase):
    def deploy(self, client, number):
        loader = client.call(LOADING, "own", f"version {number}")
        client.call(LOADING, "bean", ref(loader))
        self.assertEqual(client.call(BEAN, "loaderName"), f"version {number}")
        self.assertEqual(client.call(BEAN, "add", number, 1), str(number + 1))
        return loader

    @on_each_jdk
    def test_the_new_class_is_called_and_the_old_class_is_unloaded(self, options):
        client = self.serve(*options)
        for number in range(12):
            self.deploy(client, number)
            client.control("delete_session")
            self.assertEqual(client.call(LOADING, "alive"), "0")
        self.failure(client.call, BEAN, "loaderName")

    @on_each_jdk
    def test_of_two_classes_the_one_whose_loader_is_left_counts(self, options):
        client = self.serve(*options)
        self.deploy(client, 1)
        client.call(LOADING, "setLoaderOfMain", ref(client.call(LOADING, "own", "two")))
        client.control("delete_session")
        self.assertEqual(client.call(LOADING, "alive"), "1")
        self.assertEqual(client.call(BEAN, "loaderName"), "two")

    @on_each_jdk
    def test_the_peer_does_not_grow(self, options):
        env = environment()
        env["ASAN_OPTIONS"] += ":quarantine_size_mb=4"  # or freed memory counts as growth
        peer = self.start("-J", "-Xms96m", "-J", "-Xmx96m", "-J", "-XX:+AlwaysPreTouch", "-J",
                          "-XX:MaxMetaspaceSize=48m", *options, env=env)
        client = self.connect()
        for turn in range(15):
            if turn == 5:
                before = peer.resident_kib()
            client.call(LOADING, "redeploy", "some.Deployed", 1000)
            self.assertEqual(client.call(LOADING, "alive"), "0")
            self.failure(client.new, "some.Deployed[]", 1)
        self.assertLess(peer.resident_kib() - before, 32 * 1024)


class Blocked(PeerCase):
    @on_each_jdk
    def test_a_loader_that_blocks_holds_up_nobody_else(self, options):
        client, other = self.serve(*options), self.connect()
        loader = client.call(LOADING, "blocking")
        results = []
        waiting = threading.Thread(target=lambda: results.append(
            with_loader(client, loader, "call", type=BEAN, method="loaderName")["value"]))
        waiting.start()
        eventually(lambda: other.call(LOADING, "waiting") == "1", "the loader blocks")
        own = other.call(LOADING, "own", "own")
        other.call(LOADING, "define", ref(own), "some.Empty", 2000)
        self.assertIsNotNone(other.new("some.Empty1999[]", 1))
        other.call(LOADING, "bean", ref(own))
        self.assertEqual(other.call(BEAN, "loaderName"), "own")
        self.assertEqual(results, [])
        other.call(LOADING, "release")
        waiting.join()
        self.assertEqual(results, ["blocking"])

    @on_each_jdk
    def test_a_loader_may_load_others_while_it_blocks(self, options):
        client = self.serve(*options)
        client.call(LOADING, "setLoaderOfMain", ref(client.call(LOADING, "busy", 3000)))
        self.assertEqual(client.call(BEAN, "loaderName"), "busy")
        self.assertIsNotNone(client.new("busy.Other2999[]", 1))

    @on_each_jdk
    def test_a_loader_that_takes_long_holds_up_nobody_else(self, options):
        client = self.serve(*options)
        loader = client.call(LOADING, "slow", 500)
        began = time.monotonic()
        self.assertEqual(with_loader(client, loader, "call", type=BEAN, method="add", args=[5, 3])["value"], "8")
        self.assertGreater(time.monotonic() - began, 0.5)
        seconds = []
        for number in range(40):
            began = time.monotonic()
            self.assertEqual(client.call(BEAN, "add", number, 3), str(number + 3))
            seconds.append(time.monotonic() - began)
        self.assertLess(min(seconds), 0.5)  # if each call searched for its class, each would last longer
