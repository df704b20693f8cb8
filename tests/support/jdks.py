"""The JDKs of this machine: a binary serves any of them, so tests of JNI run with each."""

import os
import re
from pathlib import Path


def homes():
    """The Java homes below /usr/lib/jvm that have a JVM, each once. JPEER_TEST_JVMS names another folder: of another
    processor's Debian."""
    place = Path(os.environ.get("JPEER_TEST_JVMS", "/usr/lib/jvm"))
    return sorted({path.resolve().parents[2] for path in place.glob("*/lib/server/libjvm.so")})


def feature_version(home):
    """The feature version of a Java home: 17 for "17.0.15+6"."""
    return int(re.match(r"\d+", full_version(home))[0])


def full_version(home):
    """The version in the release file: "17.0.15+6-Debian-1deb12u1 (Debian)"."""
    release = dict(re.findall(r'^(\w+)="(.*)"$', (home / "release").read_text(encoding="utf-8"), re.M))
    version = release.get("JAVA_RUNTIME_VERSION") or release.get("JAVA_VERSION", "of unknown version")
    return f"{version} ({release.get('IMPLEMENTOR', 'unknown maker')})"
