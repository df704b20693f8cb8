"""The version before this one, and this one: the Python package of each with the peer of the other, and the command line.

usage: compatibility.py [PATTERN]

The tests of the older version's package, in the modules that match PATTERN (test_*.py), run twice: its package with this
peer, and this package with its peer. They know nothing of this version, so that each failure is a promise of
docs/compatibility.md that does not hold. A test that is the same in both versions may be in DIFFERENT, with the reason.
The older version is built from the commit PREDECESSOR, once, in the folder of caches.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.peer import BUILD, Peer, environment  # noqa: E402

PREDECESSOR = "c0f1aad3"  # before the first release: the next one to compare with is the tag of the last release
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jpeer/predecessor" / PREDECESSOR
# They test the packaged module itself (its stubs, its documentation), or measure; not what passes between client and peer.
DIFFERENT = {"test_docs.py", "test_native.py", "test_units.py"}
SECONDS = 1800


def run(*words, **more):
    done = subprocess.run(list(map(str, words)), check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, **more)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def build_predecessor():
    """The folder with the older version, built."""
    if (CACHE / "built").exists():
        return CACHE
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    with tempfile.TemporaryFile() as archive:
        subprocess.run(["git", "-C", ROOT, "archive", PREDECESSOR], stdout=archive, check=True)
        archive.seek(0)
        subprocess.run(["tar", "-x", "-C", CACHE], stdin=archive, check=True)
    run("cmake", "--preset", "release", "-DJPEER_LTO=OFF", "-DJPEER_BENCH=OFF", cwd=CACHE)
    run("cmake", "--build", "build/release", "--target", "jpeer", "jpeer_python_package", "fixtures", cwd=CACHE)
    (CACHE / "built").touch()
    return CACHE


def assemble(folder, package, program):
    """A copy of the package that launches this program."""
    shutil.copytree(package, folder / "jpeer")
    (folder / "jpeer/bin").mkdir(exist_ok=True)
    (folder / "jpeer/bin/jpeer").symlink_to(program)
    return folder


def test_package(title, package, old, pattern):
    """True if the older version's tests pass with this package."""
    tests = old / "clients/python/tests"
    failed = []
    counted = 0
    variables = {**environment(), "PYTHONPATH": f"{package}:{tests}", "JPEER_BUILD": str(old / "build/release")}
    for module in sorted(each.name for each in tests.glob(pattern) if each.name not in DIFFERENT):
        done = subprocess.run([sys.executable, "-m", "unittest", "discover", "-s", tests, "-p", module], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS, cwd=old, env=variables)
        found = re.search(r"^Ran (\d+) test", done.stdout, re.M)
        counted += int(found[1]) if found else 0
        if done.returncode != 0 or not found or found[1] == "0":
            failed.append(module)
            print(f"---- {title}: {module}\n{done.stdout[-6000:]}")
    print(f"compatibility: {title}: {counted} tests, {len(failed)} modules failed {' '.join(failed)}", flush=True)
    return counted > 0 and not failed


def test_commands(title, program, peer):
    """True if the command line of one version uses the peer of the other: calls, an object, a page of a list, a description."""
    wanted = {("call", "java.lang.Math.max(3, 5)"): "5\n", ("call", "--json", "new java.util.ArrayList(List.of(1, 2, 3))"): "[1, 2, 3]",
              ("describe", "java.util.Iterator"): "hasNext", ("ls", "java.util.function"): "BiFunction", ("stats",): "objects",
              ("ping",): "alive"}
    good = True
    for words, text in wanted.items():
        done = subprocess.run([program, words[0], "-u", peer.address("ws"), *words[1:]], check=False, capture_output=True, text=True,
                              timeout=60, env=environment())
        if done.returncode != 0 or text.replace(" ", "") not in done.stdout.replace(" ", ""):
            print(f"---- {title}: jpeer {' '.join(words)}: status {done.returncode}, {done.stdout!r}, {done.stderr!r}")
            good = False
    print(f"compatibility: {title}: {len(wanted)} commands, {'good' if good else 'failed'}", flush=True)
    return good


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else "test_*.py"
    old = build_predecessor()
    old_program, new_program = old / "build/release/jpeer", BUILD / "jpeer"
    with tempfile.TemporaryDirectory(prefix="jpeer-compatibility-") as folder:
        older = assemble(Path(folder, "older"), old / "build/release/python/jpeer", new_program)
        newer = assemble(Path(folder, "newer"), BUILD / "python/jpeer", old_program)
        good = [test_package("the older package, this peer", older, old, pattern),
                test_package("this package, the older peer", newer, old, pattern)]
    with Peer() as peer:
        good.append(test_commands("the older command line, this peer", old_program, peer))
    with Peer(program=old_program) as peer:
        good.append(test_commands("this command line, the older peer", new_program, peer))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
