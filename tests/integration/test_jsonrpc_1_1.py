"""JSON-RPC 1.1 over HTTP: calls by GET, statuses and headers, with http.client and curl."""

import http.client
import json
import subprocess
import uuid
from urllib.parse import urlencode, urlsplit

from support.peer import START_SECONDS
from support.peer_case import PeerCase

PING = {"version": "1.1", "method": "control", "params": ["ping"]}
MAX_VALUE = {"void": False, "value": {"type": "int", "null": False, "value": "2147483647"}}


class Http(PeerCase):
    options = ()

    def setUp(self):
        super().setUp()
        self.url = urlsplit(self.peer.address("http"))

    def exchange(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.url.netloc, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            response = connection.getresponse()
            return response, response.read().decode("utf-8")
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.exchange("GET", path, **headers)

    def post(self, message, **headers):
        text = message if isinstance(message, str) else json.dumps(message)
        return self.exchange("POST", self.url.path, text, Content_Type="application/json", **headers)

    def result(self, path):
        response, body = self.get(path)
        self.assertEqual(200, response.status, body)
        answer = json.loads(body)
        self.assertEqual({"version", "result"}, set(answer))
        self.assertEqual("1.1", answer["version"])
        return answer["result"]

    def check_error(self, exchanged, status, code):
        response, body = exchanged
        answer = json.loads(body)
        self.assertEqual((status, code), (response.status, answer["error"]["code"]), body)
        self.assertEqual("JSONRPCError", answer["error"]["name"])
        self.assertNotIn("result", answer)
        return response


class Get(Http):
    def test_safe_procedures_answer_from_the_address_bar(self):
        for prefix in ("/rpc/", "/"):
            self.assertEqual({"void": True}, self.result(prefix + "control?method=ping"))
            self.assertEqual({"void": True}, self.result(prefix + "control?0=ping"))
            self.assertEqual(MAX_VALUE, self.result(prefix + "get?type=java.lang.Integer&field=MAX_VALUE"))
            self.assertEqual("1.0", self.result(prefix + "system.describe")["sdversion"])

    def test_browsers_are_answered(self):
        accept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
        response, _ = self.get("/rpc/control?method=ping", Accept=accept, Sec_Fetch_Site="none")
        self.assertEqual(200, response.status)
        self.assertEqual("application/json", response.getheader("Content-Type"))
        self.assertEqual("no-store", response.getheader("Cache-Control"))
        self.assertIsNotNone(response.getheader("Content-Length"))

    def test_metadata_with_its_arguments_as_parameters(self):
        query = urlencode([("method", "fetch_classes_info"), ("include_classes", "java.util.BitSet"),
                           ("include_classes", "java.util.ArrayDeque"), ("compress_encode", "false"),
                           ("merge_ancestry", "0")])
        found = json.loads(self.result("/rpc/meta?" + query)["value"]["value"])
        self.assertEqual(["java.util.ArrayDeque", "java.util.BitSet"], sorted(each["className"] for each in found))
        one = json.loads(self.result("/rpc/meta?method=fetch_classes_info&include_classes=java.util.BitSet"
                                     "&compress_encode=false")["value"]["value"])
        self.assertEqual(["java.util.BitSet"], [each["className"] for each in one])

    def test_text_is_converted_to_the_type_of_the_parameter(self):
        session = str(uuid.uuid4())
        _, body = self.post({"version": "1.1", "method": "new", "params": ["java.awt.Point", [3, 4]]}, peer_id=session)
        ref = json.loads(body)["result"]["value"]["ref"]
        _, body = self.get(f"/rpc/get?type=java.awt.Point&field=y&instance={ref}", peer_id=session)
        self.assertEqual("4", json.loads(body)["result"]["value"]["value"])
        self.check_error(self.get("/rpc/get?type=java.awt.Point&field=y&instance=four"), 500, 102)

    def test_unsafe_methods_need_post(self):
        for path in ("call?type=java.lang.Math&method=max&args=1", "new?type=java.util.ArrayList", "put?type=a&field=b&value=c",
                     "control?method=gc", "control?method=delete_session", "control?0=DELETE_OBJECT", "call"):
            with self.subTest(path):
                response = self.check_error(self.get("/rpc/" + path), 405, 107)
                self.assertEqual("POST", response.getheader("Allow"))

    def test_what_a_request_may_do_is_its_own(self):
        """What one request may do must not pass to the next request, for which the peer reuses the memory."""
        for _ in range(6):
            self.assertEqual(200, self.post({"version": "1.1", "method": "java.lang.Math.max", "params": [1, 2]})[0].status)
            self.check_error(self.get("/rpc/control?method=gc"), 405, 107)

    def test_errors(self):
        for path, code in (("nothing", 105), ("system.nothing", 105), ("Get", 105), ("control", 102), ("control?Method=ping", 102),
                           ("control?method=ping&0=ping", 102), ("control?method=bogus", 105), ("get?type=a&type=b&field=c", 102),
                           ("get?type=no.such.Type&field=x", 105), ("get?type=java.lang.Integer&field=nothing", 105),
                           ("meta?method=fetch_classes_info&compress_encode=maybe", 102)):
            with self.subTest(path):
                self.check_error(self.get("/rpc/" + path), 500, code)

    def test_targets_that_cannot_be_read(self):
        for path in ("/rpc/", "/rpc/meta/", "/rpc/%zz", "/rpc/control?method=%", "/rpc/control?=ping", "/rpc/control?method=%ff",
                     "//"):
            with self.subTest(path):
                self.assertEqual(400, self.get(path)[0].status)
        for path in ("/rpc/a/b", "/no/where", "/favicon.ico"):
            with self.subTest(path):
                self.assertEqual(404, self.get(path)[0].status)

    def test_pages_of_other_sites_are_not_served(self):
        for headers in ({"Origin": "http://evil.test"}, {"Host": "evil.test"}, {"Sec_Fetch_Site": "cross-site"}):
            with self.subTest(headers):
                self.assertEqual(403, self.get("/rpc/control?method=ping", **headers)[0].status)

    def test_accept(self):
        self.assertEqual(406, self.get("/rpc/control?method=ping", Accept="text/html")[0].status)
        self.assertEqual(406, self.get("/rpc/control?method=ping", Accept="application/json;q=0")[0].status)

    def test_a_connection_continues_after_a_head_request_with_a_streamed_answer(self):
        """The answer contains the names of all classes, and is long enough to be streamed."""
        connection = http.client.HTTPConnection(self.url.netloc, timeout=60)
        self.addCleanup(connection.close)
        connection.request("HEAD", "/rpc/meta?method=fetch_classes_info&compress_encode=false")
        response = connection.getresponse()
        self.assertEqual((200, "chunked", b""),
                         (response.status, response.headers["Transfer-Encoding"], response.read()))
        connection.request("GET", "/rpc/get?type=java.lang.Integer&field=MAX_VALUE")
        self.assertEqual(200, connection.getresponse().status)

    def test_help_is_where_the_description_says(self):
        address = self.result("/rpc/system.describe")["help"]
        response, body = self.get(urlsplit(address).path)
        self.assertEqual((200, "text/plain; charset=utf-8"), (response.status, response.getheader("Content-Type")))
        self.assertIn("put(type, field, value, instance?)", body)

    def test_curl(self):
        address = self.peer.address("http")
        done = subprocess.run(["curl", "--silent", "--show-error", "--fail", "--max-time", "60", "--get", address + "/get",
                               "--data-urlencode", "type=java.lang.Integer", "--data-urlencode", "field=MAX_VALUE"],
                              check=True, stdout=subprocess.PIPE, text=True, timeout=START_SECONDS)
        self.assertEqual(MAX_VALUE, json.loads(done.stdout)["result"])


class Post(Http):
    def test_accept_is_checked_for_json_rpc_1_1_only(self):
        self.assertEqual(406, self.post(PING, Accept="text/html")[0].status)
        self.assertEqual(200, self.post(PING, Accept="text/html, application/*")[0].status)
        old = {"jsonrpc": "2.0", "id": 1, "method": "control", "params": {"method": "ping"}}
        self.assertEqual(200, self.post(old, Accept="text/html")[0].status)

    def test_content_type(self):
        body = json.dumps(PING)
        self.assertEqual(415, self.exchange("POST", "/rpc", body, Content_Type="text/plain")[0].status)
        self.assertEqual(200, self.exchange("POST", "/rpc", body, Content_Type="application/json; charset=utf-8")[0].status)


class Prefix(Http):
    options = ("--http-prefix", "/java/peer-1")

    def test_the_service_is_there_and_at_the_root(self):
        self.assertEqual("/java/peer-1", self.url.path)
        self.assertEqual(200, self.post(PING)[0].status)
        for path in ("/java/peer-1/control?method=ping", "/control?method=ping"):
            self.assertEqual({"void": True}, self.result(path))
        self.assertEqual(self.peer.address("http"), self.result("/java/peer-1/system.describe")["address"])

    def test_the_standard_path_is_nothing_then(self):
        self.assertEqual(404, self.get("/rpc/control?method=ping")[0].status)
        self.assertEqual(404, self.exchange("POST", "/rpc", "{}", Content_Type="application/json")[0].status)


class Idempotent(Http):
    options = ("--rpc-idempotent", "java.lang.Math.ma*,java.lang.Integer.*")

    def test_members_that_are_named_can_be_called(self):
        self.assertEqual(5, self.result("/rpc/java.lang.Math.max?0=3&1=5"))
        self.assertEqual(7, self.result("/rpc/java.lang.Integer.parseInt?0=7"))

    def test_others_need_post(self):
        for path in ("java.lang.Math.min?0=3&1=5", "java.lang.Long.parseLong?0=7", "java.lang.Thread.yield"):
            self.check_error(self.get("/rpc/" + path), 405, 107)


del Http
