"""Builds the packages of the last commit twice, in two folders and two environments, and compares the
bytes; then the Java classes inside, and the jars of the tests.

Prints a line for each package or file that differs, and the counts.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHERE = (("a", "022", {"TZ": "UTC", "LC_ALL": "C"}),
         ("in a folder/with a longer name", "002", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "CCACHE_BASEDIR": "/"}))


def run(*command, umask=None, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          umask=-1 if umask is None else int(umask, 8), **options)
    if done.returncode != 0:
        raise SystemExit(f"reproducible: {' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-4000:]}")


def build(folder, commit, umask, changes):
    """The files to compare, by their paths in the clone."""
    # Each folder has a cache of its own, if any, so that it compiles everything itself.
    environment = {**os.environ, "CCACHE_DIR": f"{folder}.ccache", "CCACHE_BASEDIR": "", "CCACHE_HASHDIR": "1", **changes}
    environment.pop("SOURCE_DATE_EPOCH", None)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder, umask=umask)
    run("git", "checkout", "--quiet", commit, cwd=folder, umask=umask)
    run("tools/build-packages", cwd=folder, env=environment, umask=umask)
    run("tools/build", "release", "fixtures", cwd=folder, env=environment, umask=umask)
    paths = [path for pattern in ("build/*/packages/*", "build/*/jni/classes/**/*.class", "build/release/java-fixtures/*.jar")
             for path in folder.glob(pattern)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def main():
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="jpeer-reproducible-") as place:
        one, other = (build(Path(place, name), commit, umask, changes) for name, umask, changes in WHERE)
        different = sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
        kept = Path(tempfile.gettempdir(), f"jpeer-different-{os.getpid()}") if different else None
        for path in different:
            print(f"reproducible: {path} differs; both are in {kept}")
            for number, files in enumerate((one, other)):
                copy = kept / str(number) / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(files.get(path, b""))
    for word in (".deb", ".tar.gz", ".class", ".jar"):
        if not any(path.endswith(word) for path in one):
            raise SystemExit(f"reproducible: no {word} was built")
    print(f"reproducible: {len(one.keys() | other.keys()) - len(different)} passed, {len(different)} failed")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
