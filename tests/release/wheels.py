"""Builds the wheels of a release (tools/build-wheel --target), and tests each where it is to run.

usage: wheels.py [PART]...

Without a PART all are run, in this order:

built         builds all, and compares what is in each with its bill of materials, what was linked, and its tag; twine reads them
bare          a program with the wheel for x86-64 in a Debian 12 with Python and a Java runtime alone; needs root
old           the peer of x86-64 in a Debian 11 (glibc 2.31) with a Java runtime alone; needs root
suite         the package's own tests, on the wheel for x86-64
newer         a program with the wheel for x86-64, on each CPython later than Debian's that this machine has
aarch64       the units, the corpora, and conformance, for aarch64, under qemu-user, with a Debian 12 of that processor; needs root
musl          whether all C compiles for musl; what the extension for musl needs, and tests of the client in it in C, under musl's loader, with peers of this machine
musl-python   the wheel for musl in a CPython that is compiled for musl: the package's own tests, with peers of this machine
reproducible  builds the wheel for x86-64 in another folder, and compares the bytes

The last line has the counts. What this machine cannot have (a root of another Debian, qemu) counts as skipped, with the reason.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools"), str(ROOT / "tests/release")]
import wheel as native_wheel  # noqa: E402
import wheel_dependencies as dependencies  # noqa: E402
from support.sbom import wheel_complaints  # noqa: E402
from wheel_dependencies import TARGETS, WHEEL  # noqa: E402

NOT_REACHED = 3  # status of tools/build-wheel
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
# What a manylinux or musllinux system has, of what the files may need.
EXPECTED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# The names that the files show to others, without which nobody could use them.
SHOWN = {"jpeer/_native.abi3.so": {"PyInit__native"}, "jpeer/bin/jpeer": {"sigaction"}}
# The library of each archive whose name is another.
ARCHIVES = {"libssl": "openssl", "libcrypto": "openssl", "libz": "zlib", "libjpeer_llhttp": "llhttp"}
TWINE = "twine==7.0.0"
# What qemu-user cannot do: tests of ctest with all their variants, and tests in the others.
WIPE = "qemu ignores MADV_WIPEONFORK: a child does not know that it is one"
DONT = "qemu ignores MADV_DONTFORK"
REMOVE = "qemu ignores MADV_REMOVE"
NOT_IN_QEMU = {
    "test_fork_guard": WIPE, "test_fork": WIPE, "test_a_child_is_another_process": WIPE,
    "a_child_has_no_map": DONT, "test_a_child_has_no_map": DONT,
    "test_shm_memory": REMOVE, "releases_pages_only_of_an_empty_ring": REMOVE, "an_idle_connection_releases_memory": REMOVE,
    "an_idle_connection_of_a_client_that_reads_late_releases_memory": REMOVE,
    "cannot_start_a_missing_program": "qemu makes a fork of vfork: a child cannot say that execve has failed",
    "test_broken_responses": "qemu does not say that descriptors were cut off (MSG_CTRUNC)",
    "test_duplex_crowd_shm": "qemu on x86-64 lets a load pass a store before it, both memory_order_seq_cst: a notification may be lost",
    "test_client_trees": "two copies of jansson, the test's and the library's, where jansson is linked statically",
}


class Skipped(Exception):
    """The reason."""


def read_elf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def find_wheel(target):
    found = list((target.folder / "dist").glob("*.whl"))
    if len(found) != 1:
        raise Skipped(f"{target.name} was not built")
    return found[0]


def unpack_wheel(target, folder):
    """As pip does: the modes are in the archive."""
    with zipfile.ZipFile(find_wheel(target)) as archive:
        archive.extractall(folder)
        for info in archive.infolist():
            (Path(folder) / info.filename).chmod(info.external_attr >> 16)
    return Path(folder)


# ---- what is in a wheel ----

def file_complaints(target, name, path):
    header = read_elf("--file-header", path)
    if MACHINES[target.processor] not in header:
        yield f"{name} is for another processor"
    dynamic = read_elf("--dynamic", path)
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    if not needed <= ({"libc.so"} if "musl" in target.name else EXPECTED):
        yield f"{name} needs {sorted(needed)}"
    if "RPATH" in dynamic or "RUNPATH" in dynamic or "BIND_NOW" not in dynamic:
        yield f"{name} has a path of its own, or binds late"
    symbols = read_elf("--dyn-syms", path)
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"@+GLIBC_([0-9.]+)", symbols)}
    oldest = tuple(map(int, re.findall(r"_(\d+)_(\d+)_", target.platform)[0]))
    if "musl" in target.name and versions or versions and max(versions) > oldest:
        yield f"{name} needs glibc {max(versions)}"
    shown = {line.split()[7].split("@")[0] for line in symbols.splitlines()
             if len(line.split()) >= 8 and line.split()[4] in ("GLOBAL", "WEAK") and line.split()[6] not in ("UND", "Ndx")}
    if shown != SHOWN[name]:
        yield f"{name} shows {sorted(shown)}"
    if str(ROOT).encode() in path.read_bytes():
        yield f"{name} names the folder in which it was built"


def bill_complaints(target, folder):
    """Compares the bill with the archives from which the linker says that it took something."""
    info = next(folder.glob("*.dist-info"))
    bill = json.loads((info / "sboms/jpeer.spdx.json").read_text(encoding="utf-8"))
    named = {package["name"]: package for package in bill["packages"] if package["name"] != "jpeer"}
    archives = set(json.loads((target.folder / "linked.json").read_text(encoding="utf-8")))
    linked = {ARCHIVES.get(name, name if name in named else name.removeprefix("lib")) for name in archives
              if not name.startswith("libjpeer_") or name in ARCHIVES}
    if linked != set(named):
        yield f"{sorted(linked)} were linked, and the bill names {sorted(named)}"
    for name, package in named.items():
        text = info / f"licenses/libraries/{name}.txt"
        if not text.is_file() or not re.search(r"(?i)licen[cs]e|permission", text.read_text(encoding="utf-8")):
            yield f"the licence of {name} is missing"
        if package["licenseDeclared"] == "NOASSERTION" or package["versionInfo"] == "NOASSERTION":
            yield f"the bill does not say which licence and version {name} has"
        row = dependencies.LIBRARIES.get(name)
        if row and package["checksums"][0]["checksumValue"] != row.get("tar", row.get("deb")):
            yield f"the bill has another source of {name}"
    yield from wheel_complaints(folder)
    for file in bill["files"]:
        if {"algorithm": "SHA256", "checksumValue": dependencies.checksum(folder / file["fileName"])} not in file["checksums"]:
            yield f"the bill has another checksum of {file['fileName']}"


def build_wheel(tree, target):
    """What was wrong; "" if nothing was."""
    done = subprocess.run([tree / "tools/build-wheel", "--target", target.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode == NOT_REACHED:
        raise Skipped(f"a source or a tool is not reached: {done.stderr.strip().splitlines()[-1]}")
    return done.stderr or "the build failed" if done.returncode != 0 else ""


def check_built():
    for target in TARGETS.values():
        fault = build_wheel(ROOT, target)
        if fault:
            yield fault
            continue
        wheel = find_wheel(target)
        print(f"wheels: {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        if not wheel.name.endswith(f"-cp311-abi3-{target.platform}.whl"):
            yield f"{wheel.name} has another tag"
        with tempfile.TemporaryDirectory(prefix="jpeer-wheel-") as folder:
            tree = unpack_wheel(target, folder)
            files = {name: tree / name for name in SHOWN if (tree / name).exists()}
            if len(files) != (2 if target.has_peer else 1) or target.has_peer != any(tree.glob("*.data/scripts/jpeer")):
                yield f"{wheel.name} has {sorted(files)}"
            for name, path in files.items():
                yield from (f"{target.name}: {fault}" for fault in file_complaints(target, name, path))
            yield from (f"{target.name}: {fault}" for fault in bill_complaints(target, tree))
    yield from check_pages()


def check_pages():
    """What PyPI would refuse or not show."""
    with tempfile.TemporaryDirectory(prefix="jpeer-venv-") as folder:
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
        fetched = subprocess.run([Path(folder) / "bin/pip", "install", "--quiet", TWINE], capture_output=True, check=False)
        if fetched.returncode != 0:
            print(f"wheels: built: {TWINE} is not reached", flush=True)
            return
        done = subprocess.run([Path(folder) / "bin/twine", "check", "--strict", *map(find_wheel, TARGETS.values())],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, flush=True)
        if done.returncode != 0:
            yield "twine refuses a wheel"


# ---- where it runs ----

def make_root(folder, release, processor, packages):
    """Unpacks packages and what they depend on. Nothing is configured, so that no program of another processor has to run."""
    if os.geteuid() != 0:
        raise Skipped("chroot needs root")
    subprocess.run([ROOT / "tools/install-packages", "mmdebstrap"], check=True)
    done = subprocess.run(["mmdebstrap", "--quiet", f"--arch={processor}", "--variant=extract", f"--include={packages}", release, folder],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"Debian {release} for {processor} is not reached: {done.stdout.strip().splitlines()[-1]}")
    folder.chmod(0o755)


def check_old():
    with tempfile.TemporaryDirectory(prefix="jpeer-root-", dir="/var/tmp") as temporary:
        root = Path(temporary) / "root"
        make_root(root, "bullseye", "amd64", "libc6,libc-bin,openjdk-17-jre-headless")
        unpack_wheel(TARGETS["x86_64-manylinux_2_28"], root / "wheel")
        (root / "proc").mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
        try:
            done = subprocess.run(["chroot", root, "/usr/bin/env", "-i", "HOME=/tmp", "/wheel/jpeer/bin/jpeer", "shell", "-cp", "/tmp", "-e",
                                   "xs = [3, 1, 2]; xs.sort((a, b) -> a.compareTo(b)); xs"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
            if "[1, 2, 3]" not in done.stdout:
                yield f"in Debian 11: {done.stdout}"
        finally:
            subprocess.run(["umount", root / "proc"], check=True)


def run_wheel_tests(*options):
    done = subprocess.run([sys.executable, ROOT / "tests/release/wheel.py", "--wheel", find_wheel(TARGETS["x86_64-manylinux_2_28"]), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        yield f"tests/release/wheel.py {' '.join(options)} failed with the wheel for x86-64"


def check_bare():
    if os.geteuid() != 0:
        raise Skipped("chroot needs root")
    return run_wheel_tests("--bare-root")


def check_suite():
    return run_wheel_tests()


def check_newer():
    """pyenv's and the system's."""
    places = [*Path("/usr/bin").glob("python3.[0-9]*"), *Path("/usr/local/bin").glob("python3.[0-9]*"),
              *Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    pythons = {}
    for place in places:
        if re.fullmatch(r"python3(\.\d+)?", place.name):
            version = subprocess.run([place, "-c", "import sys; print(*sys.version_info[:3], sep='.')"], stdout=subprocess.PIPE, text=True,
                                     check=False).stdout.strip()
            pythons[version] = place
    later = {version: place for version, place in pythons.items() if version and tuple(map(int, version.split("."))) >= (3, 11)}
    for version, place in sorted(later.items()):
        with tempfile.TemporaryDirectory(prefix="jpeer-venv-") as folder:
            environment = Path(folder)
            subprocess.run([place, "-m", "venv", environment], check=True)
            subprocess.run([environment / "bin/pip", "install", "--quiet", "--no-index", find_wheel(TARGETS["x86_64-manylinux_2_28"])], check=True)
            print(f"wheels: CPython {version}", flush=True)
            native_wheel.run_program(environment / "bin/python", folder)
            command = subprocess.run([environment / "bin/jpeer", "--version"], stdout=subprocess.PIPE, text=True, check=False)
            if not command.stdout.startswith(f"jpeer {dependencies.project_version()} "):
                yield f"CPython {version}: the command jpeer says {command.stdout!r}"


def link_files(folder, links):
    for name, path in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(path)


def register_qemu():
    """Programs for aarch64 then run by their names, in chroots as well."""
    subprocess.run([ROOT / "tools/install-packages", "qemu-user-static"], check=True)
    area = Path("/proc/sys/fs/binfmt_misc")
    if not (area / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", area], check=False)
    if not (area / "register").exists():
        raise Skipped("the kernel has no binfmt_misc")
    if not (area / "qemu-aarch64").exists():
        row = Path("/usr/lib/binfmt.d/qemu-aarch64.conf").read_text(encoding="ascii").strip()
        fields = row.split(":")
        fields[-2:] = ["/usr/bin/qemu-aarch64-static", "OCPF"]
        (area / "register").write_text(":".join(fields), encoding="ascii")


def run_units(units, environment):
    """False if one failed. Those with a JVM run without -Xcheck:jni."""
    for name, why in NOT_IN_QEMU.items():
        print(f"wheels: aarch64: skipped: {name}: {why}", flush=True)
    names = list(NOT_IN_QEMU)
    good = True
    for folder in ("tests/unit", "tests/fuzz"):
        done = subprocess.run(["ctest", "--test-dir", units / folder, "--label-exclude", "checked", "--parallel", "2", "--output-on-failure",
                               "--exclude-regex", f"^({'|'.join(names)})(_|$)"],
                              env={**environment, "JPEER_TEST_WITHOUT": " ".join(names)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        print(done.stdout, flush=True)
        good = good and done.returncode == 0 and "tests passed, 0 tests failed" in done.stdout
    return good


def check_aarch64():
    """JVMs are slow under qemu: conformance runs over the transports whose forms of messages differ."""
    target = TARGETS["aarch64-manylinux_2_28"]
    register_qemu()
    with tempfile.TemporaryDirectory(prefix="jpeer-root-", dir="/var/tmp") as temporary:
        folder = Path(temporary)
        make_root(folder / "root", "bookworm", "arm64", "libc6,openjdk-17-jdk-headless")
        (home,) = (folder / "root/usr/lib/jvm").glob("java-17-openjdk-arm64")
        environment = {**os.environ, "QEMU_LD_PREFIX": str(folder / "root"), "JAVA_HOME": str(home), "JPEER_TEST_JVMS": str(home.parent)}
        if not run_units(dependencies.build_units(target, home.parent), environment):
            yield "units failed on aarch64"
        tree = unpack_wheel(target, folder / "wheel")
        release = ROOT / os.environ.get("JPEER_BUILD", "build/release")
        build = folder / "build"
        link_files(build, {"jpeer": tree / "jpeer/bin/jpeer", "java-fixtures": release / "java-fixtures", "tests": release / "tests"})
        done = subprocess.run([sys.executable, ROOT / "tests/conformance/run.py", "--transport", "websocket", "--transport", "zeromq-binary"],
                              cwd=ROOT, env={**environment, "JPEER_BUILD": str(build)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        print(done.stdout, flush=True)
        if done.returncode != 0:
            yield "conformance failed on aarch64"


def check_musl():
    """Programs in C use the client that is in the extension, under musl's own loader. The peers that they launch are this
    machine's."""
    subprocess.run([ROOT / "tools/install-packages", "musl"], check=True)
    target = TARGETS["x86_64-musllinux_1_2"]
    yield from dependencies.compile_for_musl(ROOT / os.environ.get("JPEER_BUILD", "build/release") / "compile_commands.json")
    with tempfile.TemporaryDirectory(prefix="jpeer-wheel-") as folder:
        tree = unpack_wheel(target, folder)
        done = subprocess.run(["/lib/ld-musl-x86_64.so.1", "--list", tree / "jpeer/_native.abi3.so"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        missing = [line for line in done.stdout.splitlines() if "symbol not found" in line and not re.search(r": _?Py\w+: symbol", line)]
        if missing or "symbol not found" not in done.stdout:
            yield f"musl's loader says: {missing or done.stdout}"
        program = Path(folder) / "launches"
        dependencies.build_musl_client(ROOT / "tests/integration/client/launches.c", program)
        done = subprocess.run([sys.executable, ROOT / "tests/integration/client/test_launch.py", program], cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "JPEER_BUILD": os.environ.get("JPEER_BUILD", "build/release")},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, flush=True)
        if done.returncode != 0:
            yield "tests of the client failed on musl"
    without_peer = "import sys; sys.path.insert(0, sys.argv[1]); from jpeer import connection; connection.find_program()"
    with tempfile.TemporaryDirectory(prefix="jpeer-wheel-") as folder:  # the modules are the same on any C library
        tree = unpack_wheel(TARGETS["x86_64-manylinux_2_28"], folder)
        shutil.rmtree(tree / "jpeer/bin")
        done = subprocess.run([sys.executable, "-c", without_peer, tree], env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if "FileNotFoundError: this package contains no peer" not in done.stdout:
            yield f"without a peer launch says {done.stdout}"


def check_musl_python():
    """With musl's own loader, and peers of this machine: pip of the CPython for musl accepts the wheel's tag."""
    subprocess.run([ROOT / "tools/install-packages", "musl"], check=True)
    target = TARGETS["x86_64-musllinux_1_2"]
    try:
        python = dependencies.build_musl_python(target)
    except dependencies.NotReached as fault:
        raise Skipped(f"the sources of CPython are not reached: {str(fault).splitlines()[-1]}") from fault
    release = (ROOT / os.environ.get("JPEER_BUILD", "build/release")).resolve()
    with tempfile.TemporaryDirectory(prefix="jpeer-musl-") as folder:
        Path(folder).chmod(0o755)  # a test uses the package as another user
        environment = Path(folder) / "venv"
        subprocess.run([python, "-m", "venv", "--without-pip", environment], check=True)
        (pip,) = (python.parents[1] / "lib/python3.11/ensurepip/_bundled").glob("pip-*.whl")
        subprocess.run([environment / "bin/python", pip / "pip", "install", "--quiet", "--no-index", find_wheel(target)], check=True)
        link_files(Path(folder), {"bin/jpeer": release / "jpeer"})
        print("wheels: test_directory.py does not run: it needs a libcurl for musl, which Debian has not", flush=True)
        for pattern in ("test_[!d]*.py", "test_d[!i]*.py"):
            if native_wheel.run_suite(environment / "bin/python", pattern, False, PATH=f"{folder}/bin:{os.environ['PATH']}") != 0:
                yield f"{pattern} of the package's tests failed on musl"


# ---- the same bytes ----

def check_reproducible():
    """All is compiled again, in a folder of another name and with an empty cache; only what was fetched is copied."""
    target = TARGETS["x86_64-manylinux_2_28"]
    with tempfile.TemporaryDirectory(prefix="jpeer-again-", dir="/var/tmp") as temporary:
        again = Path(temporary) / "another folder".replace(" ", "-")
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, again], check=True)
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, again / name)
        (again / "build/wheel").mkdir(parents=True)
        for name in ("sources", "zig"):
            shutil.copytree(WHEEL / name, again / "build/wheel" / name, symlinks=True)
        fault = build_wheel(again, target)
        if fault:
            yield fault
            return
        (other,) = (again / target.folder.relative_to(ROOT) / "dist").glob("*.whl")
        if other.read_bytes() != find_wheel(target).read_bytes():
            kept = WHEEL / "differs"
            kept.mkdir(exist_ok=True)
            shutil.copy(other, kept)
            yield f"two builds differ: {kept / other.name} and {find_wheel(target)}"


PARTS = {"built": check_built, "bare": check_bare, "old": check_old, "suite": check_suite, "newer": check_newer, "aarch64": check_aarch64, "musl": check_musl,
         "musl-python": check_musl_python,
         "reproducible": check_reproducible}


def main(names):
    unknown = set(names) - set(PARTS)
    if unknown:
        raise SystemExit(f"wheels: no part is called {' or '.join(sorted(unknown))}")
    passed = failed = skipped = 0
    for name in names or PARTS:
        try:
            faults = list(PARTS[name]())
        except Skipped as reason:
            print(f"wheels: {name}: skipped: {reason}", flush=True)
            skipped += 1
            continue
        for fault in faults:
            print(f"wheels: {name}: {fault}", flush=True)
        print(f"wheels: {name}: {'failed' if faults else 'passed'}", flush=True)
        passed, failed = passed + (not faults), failed + bool(faults)
    print(f"wheels: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
