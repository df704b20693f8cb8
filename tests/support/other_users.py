"""Clients of a peer's Unix sockets that are other users of the machine."""

import json
import os
import shutil
import subprocess
import sys

from support.clients import SECONDS, call_request

CALL = json.dumps(call_request(1, "java.lang.Math", "max", 3, 5))
CAN_BECOME = os.geteuid() == 0 and shutil.which("setpriv") is not None
CANNOT_BECOME = "needs root and setpriv to be another user"
ASK_ZMQ = """
import sys, zmq
from zmq.utils.monitor import recv_monitor_message
socket = zmq.Context().socket(zmq.DEALER)
socket.linger = 0
refusals = zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED  # a user who may not open the file, and one whom the peer refuses
monitor = socket.get_monitor_socket(refusals)
socket.connect(sys.argv[1])
socket.send(sys.argv[2].encode())
poller = zmq.Poller()
poller.register(socket, zmq.POLLIN)
poller.register(monitor, zmq.POLLIN)
ready = dict(poller.poll(int(sys.argv[3]) * 1000))
if socket in ready:
    print(socket.recv().decode())
elif monitor not in ready:
    sys.exit("neither an answer nor a refusal")
"""


def become(user, group, *groups):
    """Words before a command; groups: the supplementary ones."""
    return ["setpriv", "--reuid", str(user), "--regid", str(group),
            *(("--groups", ",".join(map(str, groups))) if groups else ("--clear-groups",))]


def curl(path, *arguments, url="http://localhost/rpc", body=CALL, before=()):
    """Runs curl, as the user that the words before it become. Returns (status, body)."""
    done = subprocess.run([*before, "curl", "--silent", "--max-time", str(SECONDS), "--unix-socket", path, "--header",
                           "Content-Type: application/json", "--data", body, "--write-out", "\n%{http_code}",
                           *arguments, url], capture_output=True, text=True, check=False, timeout=2 * SECONDS)
    content, _, status = done.stdout.rpartition("\n")
    return int(status), content


def ask_zmq(endpoint, text, before=()):
    """The answer over ZeroMQ; None: the connection is refused."""
    done = subprocess.run([*before, sys.executable, "-c", ASK_ZMQ, endpoint, text, str(SECONDS)], capture_output=True, text=True,
                          check=False, timeout=2 * SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() or None
