"""Runs the conformance cases in binary form: each request is sent as a Colfer message, and each reply becomes JSON-RPC
again.

In this form a case compares:
- results: void or not, type, null, ref; the value as the JSON text in the Obj. (The text of a string has quotes only
  under --compat pal.) The value that is sent with the ref of a collection or map is not in JSON-RPC, and is left to
  tests/integration/test_binary.py.
- errors: throwable type, message, frames and causes of the raised throwable. A raised throwable has neither a code nor
  suggestions. If a case names no throwable type, THROWABLES has the type that its code stands for.
- control and meta: the status that corresponds to the code of the expected error (STATUS_OF), and the body.
- the ref of a value, which --compat pal has only in this form, is left to tests/integration/test_binary_values.py.
- "from", if --compat pal has it in JSON-RPC, too.
- null and empty texts are equal: Colfer leaves both out.

These have no binary form, and are left out: notifications, batches, JSON-RPC 1.1, ids that are neither strings nor
integers, malformed JSON and malformed envelopes (codes -32700 and -32600), a Java member as the method, members of
params and of arguments other than type, value and ref (such as encoding), refs and names of the wrong JSON type, and
null values of JSON only: an argument with neither value nor ref, and a metadata query's null. Number suffixes are part
of a value's text.
"""

import json
import re
import uuid
from pathlib import Path

from support.binary_client import (COMMANDS, DENIED, REQUESTS, SERVICES, STATUSES, BinaryClient, named, obj_null,
                                   obj_ref, obj_text)

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.S)
# The throwable of an error of that code, if the case names no throwable.
THROWABLES = {-32602: "java.lang.IllegalArgumentException", -32001: DENIED, -32603: "java.lang.InternalError",
              -32601: "$any-of:" + "|".join(f"java.lang.{name}Exception" for name in (
                  "ClassNotFound", "NoSuchMethod", "NoSuchField")),
              -32000: "$text"}
STATUS_OF = {-32001: "UNAUTHORIZED", -32601: "UNSUPPORTED", -32602: "ERROR"}
# By the method, and whether there is an instance.
NUMBERS = {("new", False): 1, ("call", True): 2, ("call", False): 3, ("get", False): 4, ("get", True): 5,
           ("put", False): 6, ("put", True): 7}
# The classes whose objects have a ref only in binary messages, with --compat pal.
VALUE_TYPES = {"boolean", "byte", "char", "short", "int", "long", "float", "double", "java.lang.String",
               *(f"java.lang.{name}" for name in ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float",
                                                  "Double"))}
# The control methods that only JSON-RPC has, by their table.
CONTROL_TABLE = Path(__file__).resolve().parents[2] / "native/op/control_methods.h"
ADDITIONS = set(re.findall(r'ROW\(\w+, "(\w+)".*\.is_addition = true', CONTROL_TABLE.read_text(encoding="utf-8")))
UNKNOWN = 99  # a command and a service that do not exist
MEMBERS = {"new": {"type", "args"}, "call": {"type", "method", "instance", "args"},
           "get": {"type", "field", "instance"}, "put": {"type", "field", "instance", "value"},
           "control": {"method", "args"}, "meta": {"method", "args"}}


class NotExpressible(Exception):
    """A step has no binary form. If JSON-RPC would run the step, later steps may depend on it."""

    def __init__(self, why, is_run=False):
        super().__init__(why)
        self.is_run = is_run


def require(condition, why):
    if not condition:
        raise NotExpressible(why)


def parts(text):
    """The texts of a container's contents, unchanged."""
    depth, begin, found = 0, 0, []
    for token in TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            begin = token.end() if depth == 1 else begin
        elif token[0] in "]}":
            depth -= 1
        if depth == 0 or (depth == 1 and token[0] == ","):
            if text[begin:token.start()].strip():
                found.append(text[begin:token.start()].strip())
            begin = token.end()
    return found


def members(text, what):
    """The texts of an object's members, by their names."""
    require(text.startswith("{"), f"{what} is no object")
    found = {}
    for part in parts(text):
        name = TOKEN.match(part)[0]
        name, value = json.loads(name), part[len(name):].lstrip()[1:].lstrip()
        require(name not in found, f"{what} has a member twice")
        found[name] = value
    return found


def string(text, what):
    require(text.startswith('"'), f"{what} is no string")
    return json.loads(text)


def ref_number(text, what):
    require(re.fullmatch("[1-9][0-9]{0,9}", text) and int(text) < 1 << 32, f"{what} is no ref")
    return int(text)


class Request:
    """A JSON-RPC request whose values are still JSON text."""

    def __init__(self, text):
        text = text.strip()
        if text.startswith("["):
            raise NotExpressible("a batch", is_run=True)
        try:
            json.loads(re.sub(r"(?<=[0-9])[dflDFL]\b(?=\s*[,\]}])", "", text))
        except ValueError:
            raise NotExpressible("malformed JSON") from None
        envelope = members(text, "the request")
        require(set(envelope) <= {"jsonrpc", "id", "method", "params"}, "more than JSON-RPC 2.0 in the envelope")
        require(envelope.get("jsonrpc") == '"2.0"', "not JSON-RPC 2.0")
        if "id" not in envelope:
            raise NotExpressible("a notification", is_run=True)
        require(re.fullmatch(r'"[^"\\]+"|[1-9][0-9]*', envelope["id"]), "an id that is no text")
        self.id = json.loads(envelope["id"])
        self.method = string(envelope.get("method", ""), "the method")
        if self.method not in MEMBERS:
            raise NotExpressible("another method than the six", is_run="." in self.method)
        self.params = members(envelope.get("params", ""), "params")
        require(set(self.params) <= MEMBERS[self.method], "other params than the binary form has")

    def text(self, name):
        return string(self.params[name], name) if name in self.params else ""

    def args(self):
        args = self.params.get("args", "[]")
        require(args.startswith("["), "args that are no array")
        return parts(args)

    def message(self, pal):
        if self.method == "control":
            require(self.text("method").lower() not in ADDITIONS, "a control method without a command")
            command = COMMANDS.get(self.text("method").lower(), UNKNOWN)
            return {"messageType": 31, "controlMessage": {
                "messageId": str(self.id), "command": command, "params": [argument(arg, pal) for arg in self.args()]}}
        if self.method == "meta":
            service = SERVICES.get(self.text("method"), UNKNOWN)
            return {"messageType": 60, "metaMessage": {
                "messageId": str(self.id), "service": service, "params": [meta_argument(arg) for arg in self.args()]}}
        return self.exec_message(pal)

    def exec_message(self, pal):
        on_instance = "instance" in self.params
        number = NUMBERS[self.method, on_instance]
        fields = {"clazz": named(self.text("type"))}
        if on_instance:
            fields["objectRef"] = ref_number(self.params["instance"], "the instance")
        if self.method in ("new", "call"):
            fields["args"] = [argument(arg, pal) for arg in self.args()]
        if self.method == "call":
            fields["name"] = self.text("method")
        if self.method in ("get", "put"):
            fields["field"] = named(self.text("field"))
        if "value" in self.params:
            value = argument(self.params["value"], pal)
            fields.update({"valueObjectRef": value["ref"]} if set(value) == {"ref"} else {"valueObject": value})
        return {"messageType": number, "execMessage": {"messageId": str(self.id), REQUESTS[number][1]: fields}}


def meta_argument(text):
    require(members(text, "an argument").get("value") != "null", "null for an argument of a metadata query")
    return obj_text(text)


def argument(text, pal):
    """An argument's JSON text as an Obj."""
    if text == "null":
        return obj_null()
    fields = members(text, "an argument") if text.startswith("{") else {}
    if not set(fields) & {"type", "value", "ref"}:
        return obj_text(text)
    require(set(fields) <= {"type", "value", "ref"}, "an argument has more than type, value and ref")
    require(not {"value", "ref"} <= set(fields), "an argument with a value and a ref")
    type_name = string(fields["type"], "an argument's type") if "type" in fields else None
    if "ref" in fields:
        return obj_ref(ref_number(fields["ref"], "an argument's ref"), type_name)
    if "value" not in fields:
        require(pal, "an argument with neither value nor ref")
        return {"clazz": named(type_name)}
    return obj_null(type_name) if fields["value"] == "null" else obj_text(fields["value"], type_name)


class BinaryForm:
    """A transport of the conformance cases: JSON text in, JSON text out. The socket is the Java client's."""

    name = "zeromq-binary"

    def __init__(self, peer):
        self.client = BinaryClient(peer, "req", uuid.uuid4().bytes)
        self.pal = "--compat" in peer.process.args
        self.is_exec = False

    def exchange(self, text):
        request = Request(text)
        message = request.message(self.pal)
        self.is_exec = "execMessage" in message
        reply = {"jsonrpc": "2.0", "id": request.id, **self.answer(request, self.client.ask(message))}
        return json.dumps(reply, separators=(",", ":"))

    exchange_or_nothing = exchange

    def answer(self, request, reply):
        if not self.is_exec:
            return self.answer_to_control(request, reply)
        if "raisedThrowable" in reply:
            return {"error": {"data": self.throwable(request, reply["raisedThrowable"]["throwable"])}}
        if request.method == "put":
            return self.result({"void": True}, self.field_put(request, reply))
        value = reply["returnValue"]
        reached = self.reached(request, value["from"])
        if value.get("isVoid"):
            return self.result({"void": True}, reached)
        return self.result({"void": False, "value": self.value(value["object"])}, reached)

    def result(self, result, reached):
        return {"result": {**result, "from": reached} if self.pal else result}

    def answer_to_control(self, request, reply):
        status = STATUSES[reply["status"]]
        body = reply.get("body", "")
        if status != "OK":
            return {"error": {"data": {"status": status, "message": body, **self.ids(request)}}}
        if request.method == "control":
            assert not body, reply
            return {"result": {"void": True}}
        value = {"type": "java.lang.String", "null": False, "value": body, "status": status}
        return {"result": {"void": False, **({"isVoid": False} if self.pal else {}), "value": value}}

    def ids(self, request):
        return {"request_id": request.id, **({"requestId": request.id} if self.pal else {})}

    def throwable(self, request, fields):
        types = {"throwable_type": fields["type"], **({"throwableType": fields["type"]} if self.pal else {})}
        cause = self.throwable(request, fields["cause"]) if "cause" in fields else None
        return {**types, "message": fields.get("message"), **self.ids(request),
                "stack_trace": fields.get("stackTraceElements", []), "cause": cause}

    def value(self, obj):
        """A result's value object."""
        value = {"type": obj["clazz"]["name"], "null": obj.get("isNull", False)}
        if "ref" in obj and not (self.pal and value["type"] in VALUE_TYPES):
            value["ref"] = obj["ref"]
        text = obj.get("value")
        if text is not None and ("ref" not in obj or not text.startswith(("[", "{")) or value["type"].startswith("[")):
            value["value"] = json.loads(text) if text.startswith('"') and not self.pal else text
        elif self.pal and not value["null"]:
            value["value"] = ""
        return value

    def reached(self, request, fields):
        """The member that was reached, as --compat pal reports it."""
        kind = {"new": "constructor", "call": "method", "get": "field"}[request.method]
        assert set(fields) == {kind}, fields
        return self.member(kind, fields[kind])

    def field_put(self, request, reply):
        static = "staticFieldPutDone" in reply
        done = reply["staticFieldPutDone" if static else "instanceFieldPutDone"]
        assert done["staticFieldPutId" if static else "instanceFieldPutId"] == str(request.id), done
        assert done["field"]["name"] == request.text("field"), done
        return self.member("field", done["field"])

    @staticmethod
    def member(kind, fields):
        if kind == "constructor":
            return {"class": fields["clazz"]["name"], "method": "<init>"}
        return {"class": fields["clazz"]["name"], kind: fields["name"], "modifiers": fields.get("modifiers", 0)}

    def expected(self, reply):
        """The part of a case's expected reply that the binary form has."""
        if not isinstance(reply, dict) or "error" not in reply:
            return reply
        code = reply["error"].get("code", -32000)
        require(code in THROWABLES, "an error of the JSON text or its envelope")
        data = in_colfer(reply["error"].get("data", {"...": True}))
        data.pop("suggestions", None)
        if self.is_exec:
            data = {"throwable_type": THROWABLES[code], **data}
        else:
            missing = str(data.get("message")).startswith("$begins:No such object")
            data = {**data, "status": "NO_SUCH_OBJECT" if missing else STATUS_OF[code]}
        return {**reply, "error": {"data": data}}

    def close(self):
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def in_colfer(data):
    """A throwable and its causes in Colfer, which does not distinguish an empty text from a missing text, and
    has no superclasses."""
    data = {name: in_colfer(value) if isinstance(value, dict) else value
            for name, value in data.items() if name != "superclasses"}
    return {**data, "message": None} if data.get("message") == "" else data
