"""What a wheel for other machines is built with (tools/build-wheel --target): Zig's compiler from PyPI, and the libraries of
tools/wheel-sources.toml, compiled by it as archives. All is below build/wheel; a step that has been done for the same
line of the table is not done again.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEEL = ROOT / "build/wheel"
SOURCES = WHEEL / "sources"  # what was fetched
LOG = WHEEL / "build.log"
with open(ROOT / "tools/wheel-sources.toml", "rb") as file:
    TABLE = tomllib.load(file)
LIBRARIES = {name: row for name, row in TABLE.items() if name != "zig"}
# Everything that --target needs of Debian beside what a build of the project needs.
PACKAGES = ["autoconf", "automake", "dpkg-dev", "libtool", "make", "patch", "perl", "python3-dev", "python3-venv"]
# The time that the libraries are built at: 1 January 2026. OpenSSL writes it into itself.
EPOCH = "1767225600"


class Failed(Exception):
    """The failed step, with the end of its output."""


class NotReached(Failed):
    """Something could not be fetched."""


@dataclass(frozen=True)
class Target:
    name: str  # as users write it
    zig: str   # as Zig names it
    processor: str
    platform: str  # the wheel's tag
    openssl: str   # as OpenSSL names it
    has_peer: bool

    @property
    def host(self):
        """As autoconf names it."""
        return re.sub(r"(-gnu)\..*", r"\1", self.zig)

    @property
    def folder(self):
        return WHEEL / self.name

    @property
    def prefix(self):
        return self.folder / "prefix"

    def libraries(self, *more):
        """The rows of the libraries that the wheel needs, and those that tests need: "units" or "python"."""
        users = {"all", *more} | ({"peer"} if self.has_peer else set())
        return {name: row for name, row in LIBRARIES.items() if not users.isdisjoint(row["for"].split(", "))}


TARGETS = {target.name: target for target in (
    Target("x86_64-manylinux_2_28", "x86_64-linux-gnu.2.28", "x86_64", "manylinux_2_28_x86_64", "linux-x86_64", True),
    Target("aarch64-manylinux_2_28", "aarch64-linux-gnu.2.28", "aarch64", "manylinux_2_28_aarch64", "linux-aarch64", True),
    # No registry has a JDK for musl, which the peer could be tested with.
    Target("x86_64-musllinux_1_2", "x86_64-linux-musl", "x86_64", "musllinux_1_2_x86_64", "linux-x86_64", False),
)}


def run(*command, cwd=ROOT, fault=Failed, **more):
    """Prints nothing: the output is in the log. Returns the output."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **more}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(map(str, command))}\n{done.stdout}")
    if done.returncode != 0:
        raise fault(f"{done.stdout[-4000:]}\nbuild-wheel: {command[0]} failed ({LOG.relative_to(ROOT)})")
    return done.stdout


def checksum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def project_version():
    return re.search(r"^project\(jpeer VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)[1]


# ---- fetching ----

def apt_options():
    """apt-get with lists of its own: the machine's lists have no sources, as a rule."""
    area = WHEEL / "apt"
    (area / "lists/partial").mkdir(parents=True, exist_ok=True)
    (area / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    uris = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages", "Origin: Debian")
    lines = {line for line in uris.splitlines() if re.search(r" bookworm\S* main$", line)}
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    # apt fetches a version that several have from the first: the archive proper keeps its files for the longest time.
    listed = "".join(f"deb-src [signed-by={keys}] {line}\n" for line in sorted(lines, key=lambda line: (" bookworm " not in line, line)))
    (area / "sources.list").write_text(listed, encoding="utf-8")
    settings = {"Dir::Etc::SourceList": area / "sources.list", "Dir::Etc::SourceParts": "-", "Dir::State::Lists": area / "lists",
                "Dir::Cache": area / "cache", "APT::Sandbox::User": "root"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def fetch_file(name, row, kind, options):
    """The file of the row whose checksum is row[kind]."""
    have = [path for path in SOURCES.iterdir() if path.is_file() and path.name.startswith(row.get("package", name) + "_")]
    for path in have:
        if checksum(path) == row[kind]:
            return path
    wanted = f"{row.get('package', name)}={row['version']}"
    fetch = {"deb": ["apt-get", "-qq", "download", wanted],
             "tar": ["apt-get", "-qq", *options(), "source", "--download-only", "--tar-only", wanted],
             "debian": ["apt-get", "-qq", *options(), "source", "--download-only", "--diff-only", wanted]}
    run(*fetch[kind], cwd=SOURCES, fault=NotReached)
    found = [path for path in SOURCES.iterdir() if path.is_file() and checksum(path) == row[kind]]
    if not found:
        raise Failed(f"build-wheel: the {kind} of {wanted} has another checksum than tools/wheel-sources.toml says")
    return found[0]


def fetch_sources(libraries):
    """{name: {kind: file}}"""
    SOURCES.mkdir(parents=True, exist_ok=True)
    settings = []

    def options():
        if not settings:
            settings.extend(apt_options())
            run("apt-get", "-qq", *settings, "update", fault=NotReached)
        return settings
    return {name: {kind: fetch_file(name, row, kind, options) for kind in ("tar", "debian", "deb") if kind in row}
            for name, row in libraries.items()}


def make_zig(pip):
    """Installs Zig, and returns its program."""
    zig = TABLE["zig"]
    folder = WHEEL / "zig"
    program = folder / "ziglang/zig"
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != zig["sha256"]:
        shutil.rmtree(folder, ignore_errors=True)
        demands = WHEEL / "zig.txt"
        demands.write_text(f"ziglang=={zig['version']} --hash=sha256:{zig['sha256']}\n", encoding="utf-8")
        run(pip, "install", "--quiet", "--no-deps", "--require-hashes", "--target", folder, "-r", demands, fault=NotReached)
        stamp.write_text(zig["sha256"], encoding="utf-8")
    return program


# ---- compiling ----

def make_compiler(target, zig):
    """Writes cc, c++, ar and ranlib for the target into a folder, and the file that names them to CMake. All paths of this
    tree are mapped: they must not get into what is compiled."""
    folder = target.folder / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    # For musl, Zig links programs statically otherwise, and compiles the whole C library for that.
    flags = f"-target {target.zig} -dynamic -fno-sanitize=undefined -ffile-prefix-map={ROOT}=. -Wno-unused-command-line-argument"
    lines = {"cc": f"cc {flags}", "c++": f"c++ {flags}", "ar": "ar", "ranlib": "ranlib"}
    for name, line in lines.items():
        script = folder / f"jpeer-{name}"
        script.write_text("#!/bin/sh\n"
                          f"ZIG_GLOBAL_CACHE_DIR={shlex.quote(str(WHEEL / 'zig-cache'))}\n"
                          "ZIG_LOCAL_CACHE_DIR=$ZIG_GLOBAL_CACHE_DIR\n"
                          "export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR\n"
                          f'exec {shlex.quote(str(zig))} {line} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    toolchain = target.folder / "toolchain.cmake"
    toolchain.write_text(f"""set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {target.processor})
set(CMAKE_C_COMPILER {folder}/jpeer-cc)
set(CMAKE_CXX_COMPILER {folder}/jpeer-c++)
set(CMAKE_AR {folder}/jpeer-ar)
set(CMAKE_RANLIB {folder}/jpeer-ranlib)
set(CMAKE_FIND_ROOT_PATH {target.prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{{PKG_CONFIG_LIBDIR}} {target.prefix}/lib/pkgconfig)
set(ENV{{PKG_CONFIG_PATH}} "")
""", encoding="utf-8")
    return toolchain


def unpack(name, row, files, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if "deb" in files:
        run("dpkg-deb", "--extract", files["deb"], folder)
        return folder
    run("tar", "--extract", "--file", files["tar"], "--strip-components=1", "--directory", folder, "--no-same-owner")
    if "debian" in files:
        run("tar", "--extract", "--file", files["debian"], "--directory", folder, "--no-same-owner")
        for patch in (folder / "debian/patches/series").read_text(encoding="utf-8").split():
            run("patch", "--strip=1", "--batch", f"--input=debian/patches/{patch}", cwd=folder)
    return folder / row.get("folder", ".")


def write_pkg_config(target, package, row, links):
    version = row.get("library-version") or re.sub(r"^\d+:|[-+~].*|\.dfsg", "", row["version"])
    (target.prefix / "lib/pkgconfig").mkdir(parents=True, exist_ok=True)
    (target.prefix / f"lib/pkgconfig/{package}.pc").write_text(
        f"Name: {package}\nDescription: {package}\nVersion: {version}\n"
        f"Libs: -L{target.prefix}/lib {links}\nCflags: -I{target.prefix}/include\n", encoding="utf-8")


def build_library(target, toolchain, name, row, files):
    """Does nothing if it was built from the same row by the same compiler."""
    stamp = target.folder / "built" / name
    made_of = json.dumps([row, TABLE["zig"], toolchain.read_text(encoding="utf-8")])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of:
        return
    source = unpack(name, row, files, target.folder / "sources" / name)
    licences = target.folder / "licences"
    for folder in (target.prefix / "lib", target.prefix / "include", target.prefix / "share", licences, stamp.parent):
        folder.mkdir(parents=True, exist_ok=True)
    tools = target.folder / "bin"
    cmake = ["cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DCMAKE_BUILD_TYPE=None",
             f"-DCMAKE_INSTALL_PREFIX={target.prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", "-DBUILD_SHARED_LIBS=OFF",
             "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"]
    flags = "-O2 -fPIC -ffunction-sections -fdata-sections -fstack-protector-strong"
    run("sh", "-ec", row["build"], cwd=source, CC="jpeer-cc", CXX="jpeer-c++", AR="jpeer-ar", RANLIB="jpeer-ranlib",
        PATH=f"{tools}:{os.environ['PATH']}", CFLAGS=flags, CXXFLAGS=flags, HOST=target.host, OPENSSL=target.openssl,
        CMAKE=" ".join(map(str, cmake)), PREFIX=str(target.prefix), SOURCE_DATE_EPOCH=EPOCH, LC_ALL="C.UTF-8",
        PKG_CONFIG_LIBDIR=f"{target.prefix}/lib/pkgconfig")
    for package, links in row.get("pkg-config", {}).items():
        write_pkg_config(target, package, row, links)
    text = "\n".join((source / path).read_text(encoding="utf-8") for path in row["licence-files"])
    (licences / f"{name}.txt").write_text(text, encoding="utf-8")
    stamp.write_text(made_of, encoding="utf-8")


def copy_python_headers(target):
    """Those of Debian's Python, of which the extension uses the stable ABI. All targets have the same sizes of types, so
    that one pyconfig.h does for all; Debian looks for it in a folder of the processor."""
    include = Path("/usr/include/python3.11")
    folder = target.prefix / "python"
    shutil.copytree(include, folder, dirs_exist_ok=True)
    found = sorted(Path("/usr/include").glob("*-linux-gnu/python3.11/pyconfig.h"))
    if not found:
        raise Failed("build-wheel: python3-dev has no pyconfig.h")
    own = folder / f"{target.processor}-linux-gnu/python3.11"
    own.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found[0], own / "pyconfig.h")
    return folder


def build_all(target, zig, *more):
    """Builds the libraries of the target, and those of tests; returns the file that names the compiler to CMake."""
    libraries = target.libraries(*more)
    files = fetch_sources(libraries)
    toolchain = make_compiler(target, zig)
    for name, row in libraries.items():
        build_library(target, toolchain, name, row, files[name])
    return toolchain


def build_units(target, jvms):
    """The units and the corpora, compiled for the target; returns the folder for ctest. `jvms`: where the target's JDKs are.
    Call it after the wheel was built."""
    toolchain = build_all(target, WHEEL / "zig/ziglang/zig", "units")
    folder = target.folder / "units"
    run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DJPEER_BENCH=OFF", "-DJPEER_PYTHON=OFF",
        "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2", "-DRELACY_INCLUDE_DIR=/usr/include", f"-DJPEER_TEST_JVMS={jvms}")
    run("cmake", "--build", folder, "--target", "tests/unit/all", "tests/fuzz/all", "tests/support/all")
    return folder


def build_musl_python(target):
    """A CPython for musl; returns its program. Call it after the wheel was built."""
    build_all(target, WHEEL / "zig/ziglang/zig", "python")
    return target.prefix / "bin/python3.11"


def build_musl_client(source, program):
    """Links a C program for musl with the objects of the wheel's extension; call it after the wheel for musl was built."""
    target = TARGETS["x86_64-musllinux_1_2"]
    folder = target.folder / "cmake"
    archives = [folder / "native" / name for name in (
        "client/libjpeer_client_light.a", "jsonrpc/libjpeer_jsonrpc.a", "directory/libjpeer_directory.a", "colfer/libjpeer_colfer.a",
        "json/libjpeer_json.a", "ring/libjpeer_ring.a", "base/libjpeer_base.a")]
    run(target.folder / "bin/jpeer-cc", "-O1", "-D_GNU_SOURCE", "-I", ROOT / "native/include", "-I", ROOT / "native", "-I", ROOT, source, "-o", program,
        *archives, folder / "libjpeer_llhttp.a", target.prefix / "lib/libssl.a", target.prefix / "lib/libcrypto.a")


# Of libraries that are not compiled for musl; a header says the same for every C library.
HEADERS = ("jansson.h", "jansson_config.h", "libdeflate.h", "wslay", "yaml.h", "zconf.h", "zip.h", "zipconf.h", "zlib.h", "zmq.h", "zmq_utils.h")


def compile_for_musl(database):
    """Compiles each C file of native and jni for musl, as the build of that compile_commands.json does for this machine. Yields what
    the compiler says of files that do not compile. Call it after the wheel for musl was built."""
    target = TARGETS["x86_64-musllinux_1_2"]
    rows = {row["file"]: row for row in json.loads(Path(database).read_text(encoding="utf-8"))
            if row["file"].startswith((f"{ROOT}/native/", f"{ROOT}/jni/"))}
    with tempfile.TemporaryDirectory(prefix="jpeer-musl-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in HEADERS:
            for found in sorted(Path("/usr/include").glob(name)) or sorted(Path("/usr/include").glob(f"*-linux-gnu/{name}")):
                Path(folder, name).symlink_to(found)

        def compile_one(row):
            words = shlex.split(row["command"])
            flags = [word for at, word in enumerate(words) if word.startswith(("-I", "-D", "-std", "-isystem")) or words[at - 1] == "-isystem"]
            return subprocess.run([target.folder / "bin/jpeer-cc", "-c", "-o", Path(folder, row["file"].replace("/", "_")), *flags, "-isystem",
                                   folder, "-isystem", target.prefix / "include", row["file"]], cwd=row["directory"], text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        for file, done in zip(rows, pool.map(compile_one, rows.values())):
            if done.returncode != 0:
                yield f"{file} does not compile for musl: {done.stderr}"
    if not rows:
        yield f"{database} has no file of native"
