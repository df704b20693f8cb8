"""What the tests share: a peer for a module."""

import os
from pathlib import Path

import jpeer

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / os.environ.get("JPEER_BUILD", "build/release") / "java-fixtures" / "fixtures.jar"

SECONDS = 60


def launch(**options):
    options.setdefault("timeout", SECONDS)
    return jpeer.launch(**options)
