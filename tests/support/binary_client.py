"""A client of the binary messages on a peer's ZeroMQ port, and the functions that write and read them.

Messages are dicts (support/colfer.py). The client checks in each reply what all replies have in common: the number,
exactly one part, and the ids.
"""

import itertools
import json
import uuid

import zmq

from support import colfer
from support.clients import SECONDS

# The meaning of a request's number: the part of the message, the member of an exec message, and the number of the
# answer.
REQUESTS = {
    1: ("execMessage", "constructorCall", 11),
    2: ("execMessage", "instanceMethodCall", 11),
    3: ("execMessage", "classMethodCall", 11),
    4: ("execMessage", "staticFieldGet", 11),
    5: ("execMessage", "instanceFieldGet", 11),
    6: ("execMessage", "staticFieldPut", 8),
    7: ("execMessage", "instanceFieldPut", 9),
    31: ("controlMessage", None, 32),
    60: ("metaMessage", None, 61),
}
# The meaning of a reply's number, in the same way.
REPLIES = {
    8: ("execMessage", "staticFieldPutDone"),
    9: ("execMessage", "instanceFieldPutDone"),
    10: ("execMessage", "raisedThrowable"),
    11: ("execMessage", "returnValue"),
    32: ("controlMessage", None),
    61: ("metaMessage", None),
}
THROWS = 10
COMMANDS = {"delete_object": 1, "delete_session": 2, "gc": 3, "ping": 4}
SERVICES = {"fetch_classes_info": 1}
STATUSES = {1: "OK", 2: "ERROR", 3: "UNAUTHORIZED", 4: "UNSUPPORTED", 5: "NO_SUCH_SESSION", 6: "NO_SUCH_OBJECT"}
DENIED = "io.quasient.pal.core.rpc.policy.RpcAccessDeniedException"


class Raised(Exception):
    """A throwable that was returned, with the raisedThrowable around it."""

    def __init__(self, raised):
        self.raised = raised
        self.throwable = raised["throwable"]
        self.type = self.throwable["type"]
        self.text = self.throwable.get("message", "")
        super().__init__(f"{self.type}: {self.text[:500]}")


class Refused(Exception):
    """A control or meta reply whose status is not OK."""

    def __init__(self, reply):
        self.status = STATUSES.get(reply.get("status"), reply.get("status"))
        self.body = reply.get("body", "")
        super().__init__(f"{self.status}: {self.body[:500]}")


def named(name):
    return {"name": name}


def obj(value, type_name=None):
    """An Obj with the JSON text of a value."""
    return obj_text(json.dumps(value), type_name)


def obj_text(text, type_name=None):
    return {"value": text, **({"clazz": named(type_name)} if type_name else {})}


def obj_ref(number, type_name=None):
    return {"ref": number, **({"clazz": named(type_name)} if type_name else {})}


def obj_null(type_name=None):
    return {"isNull": True, **({"clazz": named(type_name)} if type_name else {})}


def as_obj(value):
    """Returns an Obj unchanged, and makes an Obj without a type of any other value."""
    return value if isinstance(value, dict) else obj(value)


def exec_message(number, **members):
    part, name, _ = REQUESTS[number]
    return {"messageType": number, part: {name: members}}


def new_message(type_name, *args):
    return exec_message(1, clazz=named(type_name), args=[as_obj(arg) for arg in args])


def call_message(type_name, method, *args, on=None):
    members = {"clazz": named(type_name), "name": method, "args": [as_obj(arg) for arg in args]}
    return exec_message(3, **members) if on is None else exec_message(2, **members, objectRef=on)


def get_message(type_name, field, on=None):
    members = {"clazz": named(type_name), "field": named(field)}
    return exec_message(4, **members) if on is None else exec_message(5, **members, objectRef=on)


def put_message(type_name, field, value, on=None):
    """A message that sets a field. If the value is a number from a ref, it is sent as a ref."""
    value = as_obj(value)
    members = {"clazz": named(type_name), "field": named(field)}
    members.update({"valueObjectRef": value["ref"]} if set(value) == {"ref"} else {"valueObject": value})
    return exec_message(6, **members) if on is None else exec_message(7, **members, objectRef=on)


def control_message(command, *refs):
    return {"messageType": 31, "controlMessage": {"command": COMMANDS[command], "params": [obj_ref(ref) for ref in refs]}}


def meta_message(*params, service=1):
    return {"messageType": 60, "metaMessage": {"service": service, "params": list(params)}}


def part_of(message):
    """The exec, control or meta message inside a message."""
    (name,) = set(message) - {"messageType"}
    return message[name]


def plain(value):
    """The content of an Obj: the value, or else the ref, or None."""
    if value.get("isNull"):
        return None
    return json.loads(value["value"]) if "value" in value else value["ref"]


class BinaryClient:
    """A client in one of three shapes. Each shape gets the same replies, in the envelope of its requests:

    "req"     a REQ socket with the identity of a ThinPeer
    "dealer"  a DEALER that sends a message as its one frame
    "framed"  a DEALER that puts an empty frame before it
    """

    name = "binary"
    SHAPES = ("req", "dealer", "framed")

    def __init__(self, peer, shape="dealer", peer_uuid=b"", seconds=SECONDS):
        self.shape = shape
        self.peer_uuid = peer_uuid
        self.numbers = itertools.count(1)
        self.seen = set()
        self.socket = zmq.Context.instance().socket(zmq.REQ if shape == "req" else zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RCVTIMEO, seconds * 1000)
        if shape == "req":
            self.socket.setsockopt(zmq.IDENTITY, b"ThinPeer-" + uuid.uuid4().hex[:8].encode())
        self.socket.connect(peer.address("tcp"))

    def send_bytes(self, payload):
        self.socket.send_multipart([b"", payload] if self.shape == "framed" else [payload])

    def receive_bytes(self):
        frames = self.socket.recv_multipart()
        assert frames[:-1] == ([b""] if self.shape == "framed" else []), frames
        return frames[-1]

    def exchange_bytes(self, payload):
        self.send_bytes(payload)
        return self.receive_bytes()

    def addressed(self, message):
        """The message with a new id and with the session's UUID, if it has none yet."""
        (name,) = set(message) - {"messageType"}
        uuid_name = "peerUuid" if name == "execMessage" else "fromPeer"
        ids = {"messageId": f"request-{next(self.numbers)}", uuid_name: self.peer_uuid}
        return {**message, name: {**ids, **message[name]}}

    def send(self, message):
        self.send_bytes(colfer.encode("Message", message))

    def receive(self):
        return self.check(colfer.decode("Message", self.receive_bytes()))

    def check(self, reply):
        """Checks the properties of every reply: the part and the member of its number, and an id that is new."""
        part, name = REPLIES[reply["messageType"]]
        assert set(reply) == {"messageType", part}, reply
        members = {member for member in reply[part] if isinstance(reply[part][member], dict)}
        assert members == ({name} if name else set()), reply
        message_id = reply[part]["messageId"]
        assert str(uuid.UUID(message_id)) == message_id and message_id not in self.seen, reply
        self.seen.add(message_id)
        return reply

    def ask(self, message):
        """Sends a message. Returns the exec, control or meta message in the reply."""
        message = self.addressed(message)
        self.send(message)
        reply = self.receive()
        part, _, answer = REQUESTS[message["messageType"]]
        assert part in reply and reply["messageType"] in (answer, THROWS), reply
        assert reply[part].get("responseToId", "") == message[part]["messageId"], reply
        if part == "controlMessage":
            assert reply[part].get("command") == message[part].get("command"), reply
        return reply[part]

    def run(self, message):
        """Sends an exec message, and returns the reply. Raises Raised."""
        reply = self.ask(message)
        if "raisedThrowable" in reply:
            raise Raised(reply["raisedThrowable"])
        return reply

    def result(self, message):
        """Sends an exec message. Returns the Obj in the reply; None for void. Raises Raised."""
        value = self.run(message)["returnValue"]
        assert value.get("isVoid", False) != ("object" in value), value
        return value.get("object")

    def new(self, type_name, *args):
        """Makes an object, and returns its ref."""
        return self.result(new_message(type_name, *args))["ref"]

    def call(self, type_name, method, *args, on=None):
        """Calls a method. Returns the plain value, the ref, or None."""
        value = self.result(call_message(type_name, method, *args, on=on))
        return None if value is None else plain(value)

    def get(self, type_name, field, on=None):
        return plain(self.result(get_message(type_name, field, on=on)))

    def put(self, type_name, field, value, on=None):
        """Sets a field, and returns the message that confirms it."""
        reply = self.run(put_message(type_name, field, value, on=on))
        return reply["staticFieldPutDone" if on is None else "instanceFieldPutDone"]

    def control(self, command, *refs):
        self._ok(control_message(command, *refs))

    def meta(self, *params):
        """Requests metadata, and returns the body of the reply."""
        return self._ok(meta_message(*params)).get("body", "")

    def _ok(self, message):
        reply = self.ask(message)
        if STATUSES.get(reply.get("status")) != "OK":
            raise Refused(reply)
        return reply

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
