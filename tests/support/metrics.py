"""GET of /healthz and /metrics, and Prometheus' text format."""

import contextlib
import http.client
import re
from urllib.parse import urlsplit

from support.clients import SECONDS, UnixHttpClient

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.]+)$')


def ask(place, path="/metrics", method="GET", headers=None, body=None):
    """Status, headers and text of a response. place: an address of a peer."""
    if place.startswith("http://"):
        url = urlsplit(place)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=SECONDS)
    else:
        connection = UnixHttpClient.Connection(place.removeprefix("http+unix:"))
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()


def place_of(peer):
    return (peer.facts.get("metrics") or [peer.address("http")])[0]


def scrape(peer, headers=None):
    status, _, text = ask(place_of(peer), headers=headers)
    assert status == 200, (status, text)
    return text


def parse(text):
    """The samples: {"name" or 'name{label="word"}': number}."""
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, number = SAMPLE.match(line).groups()
            samples[f"{name}{{{labels}}}" if labels else name] = float(number)
    return samples


def figures(peer, headers=None):
    return parse(scrape(peer, headers))


def of(name, **labels):
    """The key of a sample."""
    written = ",".join(f'{label}="{word}"' for label, word in labels.items())
    return f"{name}{{{written}}}" if labels else name
