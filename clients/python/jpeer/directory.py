"""Peers in a directory (etcd): which there are, and the wait for one."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from . import _native

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Peer:
    """A peer, as the directory has it. Whoever may write into the directory chooses the texts."""

    uuid: str
    name: str | None
    json_rpc: str | None
    """ws://HOST:PORT or wss://HOST:PORT"""
    zmq_rpc: str | None
    """tcp://HOST:PORT"""
    zmq_curve: str | None
    """The public key of CURVE."""
    since: datetime | None
    """When the peer has registered."""


def peers(
    directory: str, *, timeout: float = 5.0, namespace: str | None = None, ca_file: Path | None = None,
    cert_file: Path | None = None, key_file: Path | None = None, user_file: Path | None = None,
) -> list[Peer]:  # fmt: skip
    """Lists the peers of a directory, by name. directory: "HOST:PORT[,HOST:PORT]", over TLS "https://HOST:PORT".

    timeout: how long to wait for the directory, in seconds. ca_file: the certificates that verify the directory's.
    cert_file, key_file: the client's certificate. user_file: a file with USER:PASSWORD. What is not given is read from
    the environment: JPEER_DIR_NAMESPACE, JPEER_DIR_CACERT, JPEER_DIR_CERT, JPEER_DIR_KEY, JPEER_DIR_USER_FILE.
    """
    settings = settings_of(namespace=namespace, ca_file=ca_file, cert_file=cert_file, key_file=key_file, user_file=user_file)
    found, fault = _native.directory_peers(directory, settings, timeout)
    if fault is not None:
        warnings.warn(fault, RuntimeWarning, stacklevel=2)
    return [_peer(*each) for each in found]


def wait_for(
    directory: str, name: str, *, timeout: float | None = None, namespace: str | None = None, ca_file: Path | None = None,
    cert_file: Path | None = None, key_file: Path | None = None, user_file: Path | None = None,
) -> Peer:  # fmt: skip
    """Waits until the directory has a peer with that name or UUID, and returns it. TimeoutError: there was none within
    `timeout` seconds; None: no limit. ValueError: no peer can have such a name. The other parameters are those of `peers`."""
    settings = settings_of(namespace=namespace, ca_file=ca_file, cert_file=cert_file, key_file=key_file, user_file=user_file)
    return _peer(*_native.await_peer(directory, settings, name, timeout))


def wait_until_raised(
    directory: str, name: str, timeout: float | None, check: Callable[[], object], settings: dict[str, Path | None]
) -> Peer:
    """Does what `wait_for` does. check is called a few times a second; its exception ends the wait."""
    return _peer(*_native.await_peer(directory, settings_of(**settings), name, timeout, check))


def settings_of(**settings: Path | None) -> dict[str, str]:
    """Returns the settings that are given, with absolute paths: the program may have another working folder later."""
    given = {name: os.fspath(value) for name, value in settings.items() if value is not None}
    for name in given:
        if name.endswith("_file"):
            given[name] = os.path.abspath(os.path.expanduser(given[name]))
    return given


def _peer(
    uuid: str, name: str | None, json_rpc: str | None, zmq_rpc: str | None, zmq_curve: str | None, since_ms: int
) -> Peer:
    since: Any = None
    if since_ms:
        try:
            since = datetime.fromtimestamp(since_ms / 1000, timezone.utc)
        except (OverflowError, ValueError, OSError):  # a time that no peer writes
            pass
    return Peer(uuid, name, json_rpc, zmq_rpc, zmq_curve, since)
