"""What the tests share: a peer for a module."""

import os
from pathlib import Path

import jpeer

ROOT = Path(__file__).resolve().parents[3]
# Not for the peers that the tests launch, which warn of variables that name no option.
FIXTURES = ROOT / os.environ.pop("JPEER_BUILD", "build/release") / "java-fixtures" / "fixtures.jar"

SECONDS = 60


def launch(**options):
    options.setdefault("timeout", SECONDS)
    return jpeer.launch(**options)
