"""Tests the wheel of the Python package in an environment that has nothing else of this tree.

usage: wheel.py [--bare-root | --in-place | --wheel FILE] [PATTERN]

tools/build-wheel builds the wheel, if none is given. A program shows which libraries its peer has loaded: only libraries of the
wheel, of the JDK, and libraries that manylinux expects everywhere. After that, the package's own tests run on
the wheel, in the modules that match PATTERN (test_calls.py), with the packages from PyPI that some tests
need. No test may be skipped then, except those that need a library of LARGE. With --bare-root only the program
runs, in a Debian 12 with just Python and a Java runtime; this needs root. With --in-place no wheel is built: the
package's own tests run in the build folder, with the Python of this machine, and report which of them were skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import jdks  # noqa: E402
from support.sbom import wheel_complaints  # noqa: E402

BUILD = os.environ.get("JPEER_BUILD", "build/release")
NOT_REACHED = 3  # status of tools/build-wheel: PyPI is out of reach
# Libraries that manylinux expects everywhere, of those that a JVM and the program use.
SYSTEM = ("ld-linux", "libc.so", "libdl.so", "libgcc_s.so", "libm.so", "libpthread.so", "libresolv.so", "librt.so",
          "libstdc++.so", "libz.so")
PACKAGES = ["mypy==1.14.1", "numpy==2.2.1", "tqdm==4.67.1"]
LARGE = ("pandas", "polars", "pyarrow")  # hundreds of MB, so they are not installed: tests of them are skipped
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jpeer/python-wheels"
AT_ONCE = 2 * len(os.sched_getaffinity(0)) + 1  # modules at the same time: their tests mostly wait for peers
SUITE = textwrap.dedent("""
    import sys, unittest
    may_skip, large, *arguments = sys.argv[1:]
    result = unittest.main(None, argv=["tests", "discover", "--buffer", *arguments], exit=False).result
    for test, reason in result.skipped:
        print(f"wheel: skipped: {test}: {reason}", flush=True)
    allowed = [reason for _, reason in result.skipped if may_skip == "yes" or reason.split(" ")[0] in large.split(",")]
    bad = len(result.failures) + len(result.errors) + len(result.skipped) - len(allowed)
    print(f"counted {result.testsRun - bad - len(allowed)} {bad}")
    sys.exit(not result.wasSuccessful() or bad > 0)
""")
PROGRAM = textwrap.dedent("""
    import jpeer
    with jpeer.launch(classpath=[]) as java:
        xs = java.java.util.ArrayList([3, 1, 2])
        xs.sort(lambda a, b: a - b)
        assert list(xs) == [1, 2, 3] and len(xs) == 3 and 2 in xs
        assert java.java.lang.Math.max(3, 5) == 5
        with open(f"/proc/{java._connection.process_id}/maps", encoding="utf-8") as maps:
            for library in {line.split()[-1] for line in maps if ".so" in line}:
                print("library", library)
    print("good", jpeer.__version__)
""")


def is_expected(library, environment):
    path = Path(library)
    return (path.is_relative_to(environment) or any(path.is_relative_to(home) for home in jdks.homes())
            or path.name.startswith(SYSTEM))


def run_program(python, environment):
    """Runs as in a user's shell that has nothing of this tree, in another folder."""
    with tempfile.TemporaryDirectory(prefix="jpeer-wheel-") as folder:
        done = subprocess.run([python, "-c", PROGRAM], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env={"PATH": "/usr/bin:/bin", "HOME": folder}, text=True, timeout=300, check=True)
    lines = done.stdout.splitlines()
    libraries = [line.removeprefix("library ") for line in lines if line.startswith("library ")]
    strange = sorted(library for library in libraries if not is_expected(library, environment))
    if not lines[-1].startswith("good ") or not any("libjvm" in library for library in libraries) or strange:
        raise SystemExit(f"wheel: the program said {lines[-1]!r}, and its peer has loaded {strange}")
    print(f"wheel: {lines[-1]}, with {len(libraries)} libraries")


def make_environment(folder, *wheels):
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    folder.chmod(0o755)  # a test uses the package as another user
    if wheels:
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--no-index", *wheels], check=True)
    return folder / "bin/python"


def install_packages(python):
    """The folders of PACKAGES, which are cached once they were fetched. False if they are not available."""
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", CACHE, *PACKAGES]
    fetch = [python, "-m", "pip", "download", "--quiet", "--dest", CACHE, *PACKAGES]
    return any(all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)
               for commands in ([install], [fetch, install]))


def run_suite(python, pattern, has_packages, **more):
    """Runs the package's own tests, which get only the fixtures of this tree. Returns the status."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-c", SUITE, "yes" if not has_packages else "no", ",".join(LARGE), "--start-directory",
               ROOT / "clients/python/tests", "--pattern"]

    def run_module(module):
        return subprocess.run([*command, module.name], cwd=ROOT, env={**environment, **more}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace", check=False)
    modules = sorted((ROOT / "clients/python/tests").glob(pattern), key=lambda module: -module.stat().st_size)
    passed = failed = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for module, done in zip(modules, pool.map(run_module, modules)):
            print(f"---- {module.name}\n{done.stdout}", flush=True)
            counted = re.search(r"^counted (\d+) (\d+)$", done.stdout, re.M)
            passed += int(counted[1]) if counted else 0
            failed += max(int(counted[2]) if counted else 0, int(done.returncode != 0))
    print(f"wheel: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def run_suite_with_packages(python, pattern, **more):
    has_packages = install_packages(python)
    if not has_packages:
        print(f"wheel: PyPI is not reached: tests that need {', '.join(PACKAGES)} are skipped", flush=True)
    return run_suite(python, pattern, has_packages, **more)


def run_in_bare_root(wheel):
    subprocess.run([ROOT / "tools/install-packages", "debootstrap"], check=True)
    root = Path(tempfile.mkdtemp(prefix="jpeer-root-"))
    packages = "python3,python3-venv,openjdk-17-jre-headless,ca-certificates"
    policy = subprocess.run(["apt-cache", "policy", "base-files"], stdout=subprocess.PIPE, text=True, check=True).stdout
    mirror = next(word for line in policy.splitlines() if "bookworm/main" in line for word in line.split()
                  if word.startswith("http"))
    inside = ["chroot", root, "env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    try:
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", root, mirror],
                       stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
        shutil.copy(wheel, root / "root")
        (root / "root/program.py").write_text(PROGRAM, encoding="utf-8")
        for command in (["python3", "-m", "venv", "/root/venv"],
                        ["/root/venv/bin/pip", "install", "--quiet", "--no-index", f"/root/{wheel.name}"]):
            subprocess.run([*inside, *command], check=True)
        done = subprocess.run([*inside, "/root/venv/bin/python", "/root/program.py"], stdout=subprocess.PIPE, text=True,
                              timeout=300, check=True)
        print(f"wheel: in a bare Debian 12: {done.stdout.splitlines()[-1]}")
    finally:
        subprocess.run(["umount", root / "proc"], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


def main(arguments):
    is_bare = "--bare-root" in arguments
    given = arguments.pop(arguments.index("--wheel") + 1) if "--wheel" in arguments else None
    pattern = next((argument for argument in arguments if not argument.startswith("-")), "test_*.py")
    if "--in-place" in arguments:
        return run_suite("/usr/bin/python3", pattern, False, PYTHONPATH=str(ROOT / BUILD / "python"))
    command = ["echo", given] if given else [ROOT / "tools/build-wheel"]
    built = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode == NOT_REACHED and not is_bare:
        print("wheel: PyPI is not reached, so that there is no wheel: the tests run in the build folder", flush=True)
        with tempfile.TemporaryDirectory(prefix="jpeer-venv-") as folder:
            return run_suite_with_packages(make_environment(Path(folder)), pattern, PYTHONPATH=str(ROOT / BUILD / "python"))
    if built.returncode != 0:
        return 1
    wheel = ROOT / built.stdout.strip()
    print(f"wheel: {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    if "manylinux_2_" not in wheel.name:
        raise SystemExit("wheel: its tag is no manylinux tag")
    with tempfile.TemporaryDirectory(prefix="jpeer-wheel-") as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        found = list(wheel_complaints(Path(folder)))
    if found:
        raise SystemExit("\n".join(f"wheel: {text}" for text in found))
    with tempfile.TemporaryDirectory(prefix="jpeer-venv-") as folder:
        python = make_environment(Path(folder), wheel)
        run_program(python, folder)
        if not is_bare:
            return run_suite_with_packages(python, pattern)
    run_in_bare_root(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
