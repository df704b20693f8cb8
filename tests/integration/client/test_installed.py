"""Tests the installed files: programs are built with the client library, by pkg-config and by CMake, in C and in C++,
and the program `jpeer` is run where `cmake --install` has put it.

usage: test_installed.py BUILD_FOLDER
"""

import fnmatch
import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

from support.installed import LIBRARY_COMPONENTS, Installed, run
from support.peer import ROOT, STOP_SECONDS, environment, eventually
from support.sbom import complaints

BUILD = Path(sys.argv[1])
PROGRAM = """\
#include <jpeer/client.h>
#include <stdio.h>

int main(void)
{
  struct jp_client *client;
  struct jp_client_error error;
  if (jp_client_open("ws+unix:/nonexistent/peer", NULL, &client, &error) != JP_CLIENT_REFUSED)
    return 1;
  printf("%s\\n", error.text);
  return jp_client_library_version() == JP_CLIENT_VERSION_MAJOR * 1000 + JP_CLIENT_VERSION_MINOR ? 0 : 1;
}
"""
OUTPUT = "ws+unix:/nonexistent/peer: No such file or directory\n"
PACKAGE = """\
cmake_minimum_required(VERSION 3.25)
project(example C CXX)
find_package(jpeer-client 0.9 REQUIRED)
foreach(kind client client-static)
  add_executable(c-${kind} program.c)
  target_link_libraries(c-${kind} PRIVATE jpeer::${kind})
endforeach()
add_executable(cxx program.cpp)
target_compile_options(cxx PRIVATE -Wall -Wextra -Werror)
target_link_libraries(cxx PRIVATE jpeer::client)
"""


# All files that a plain `cmake --install` puts into a prefix; the last part of a name may vary.
LIBRARIES = ("jsonrpc", "jsonrpc-jansson", "client", "client-jansson")
TREE = {
    "bin/jpeer",
    *(f"include/jpeer/{name}" for name in ("client.h", "client.hpp", "client_jansson.h", "jsonrpc.h", "jsonrpc_jansson.h",
                                           "request.h")),
    *(f"lib/libjpeer-{name}.{kind}" for name in LIBRARIES for kind in ("so", "so.1", "so.1.*")),
    "lib/libjpeer-jsonrpc.a", "lib/libjpeer-client.a",
    *(f"lib/pkgconfig/jpeer-{name}.pc" for name in LIBRARIES),
    *(f"lib/cmake/jpeer-{name}/jpeer-{name}-{part}.cmake" for name in ("jsonrpc", "client")
      for part in ("config", "config-version", "targets", "targets-*")),
    *(f"share/man/man1/jpeer{name}.1" for name in ("", "-call", "-calls", "-cancel", "-describe", "-each", "-end", "-gc", "-keygen", "-ls", "-peers", "-ping",
                                                   "-ps", "-rpc", "-run", "-sessions", "-shell", "-stats", "-token")),
    "share/jpeer/presets/deny-*.yaml",
    *(f"share/doc/jpeer/examples/{name}" for name in ("grafana-dashboard.json", "policy.yaml", "service.conf")),
    *(f"lib/systemd/system/jpeer@.{kind}" for kind in ("service", "socket")),
    *(f"share/doc/{package}/LICENSE" for package in ("jpeer", "libjpeer1", "libjpeer-dev")), "share/doc/jpeer/jpeer.spdx.json",
    *(f"share/doc/{package}/third-party/llhttp.txt" for package in ("jpeer", "libjpeer1", "libjpeer-dev")),
    *(f"share/doc/libjpeer1/libjpeer-{part}.spdx.json" for part in ("jsonrpc", "client")),
    *(f"share/doc/libjpeer-dev/libjpeer-{part}-dev.spdx.json" for part in ("jsonrpc", "client")),
    "share/bash-completion/completions/jpeer", "share/zsh/site-functions/_jpeer", "share/fish/vendor_completions.d/jpeer.fish",
}


class ClientLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, BUILD, *LIBRARY_COMPONENTS)
        cls.root, cls.libraries = cls.installed.root, cls.installed.libraries
        for name in ("program.c", "program.cpp"):
            (cls.root / name).write_text(PROGRAM, encoding="utf-8")

    def test_pkg_config(self):
        self.assertEqual(OUTPUT, self.installed.run(self.installed.build("program.c", "jpeer-client")))

    def test_pkg_config_needs_no_package_of_another_library(self):
        alone = {**os.environ, "PKG_CONFIG_LIBDIR": str(self.installed.packages)}
        self.assertEqual([f"-I{self.libraries}/pkgconfig/../../include"],
                         run("pkg-config", "--cflags", "jpeer-client", env=alone).split())
        shared = run("pkg-config", "--libs", "jpeer-client", env=alone).split()
        self.assertEqual(["-ljpeer-client", "-ljpeer-jsonrpc"], [flag for flag in shared if flag.startswith("-l")])

    def test_pkg_config_of_the_archive(self):
        flags = self.installed.flags("jpeer-client", "--static")
        archives = [str(self.libraries / f"lib{flag[2:]}.a") if flag.startswith("-ljpeer") else flag for flag in flags]
        program = self.root / "by-pkg-config-static"
        run("cc", self.root / "program.c", "-o", program, *archives)
        self.assertEqual(OUTPUT, run(program))

    def test_libraries_find_each_other(self):
        for library in sorted(self.libraries.glob("*.so")):
            dynamic = run("readelf", "-d", library)
            if "[libjpeer-" in dynamic.split("(SONAME)")[0]:
                self.assertIn("[$ORIGIN]", dynamic, library.name)

    def test_the_cmake_package_with_c_and_cxx(self):
        (self.root / "CMakeLists.txt").write_text(PACKAGE, encoding="utf-8")
        # Users of the shared library need no OpenSSL.
        build = self.installed.build_by_cmake(self.root, "-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON")
        for program in ("c-client", "c-client-static", "cxx"):
            self.assertEqual(OUTPUT, run(build / program))

    def test_all_that_the_headers_declare_is_there(self):
        declared = set()
        for header in ("client.h", "request.h"):
            text = (self.installed.prefix / "include/jpeer" / header).read_text(encoding="utf-8")
            declared |= set(re.findall(r"^JP_API [^(;]*?\b(jp_\w+)\(", text, re.MULTILINE))
        self.assertIn("jp_client_call", declared)
        symbols = run("nm", "-D", "--defined-only", self.libraries / "libjpeer-client.so")
        self.assertEqual(set(), {name for name in declared if f"{name}@@jp_client_1\n" not in symbols})

    def test_public_names_are_exported_alone_and_have_a_version(self):
        for options, name in ((["-D"], "libjpeer-client.so"), (["-g"], "libjpeer-client.a")):
            names = [each for each in self.installed.public_names(name, *options) if each != "jp_client_1"]
            self.assertTrue(any(each.startswith("jp_client_call") for each in names))
            self.assertEqual([], [each for each in names if not each.startswith("jp_")])
            if name.endswith(".so"):
                plain = [each.split("@@")[0] for each in names if each.split("@")[-1] != "jp_client_1"]
                self.assertEqual([], [each for each in plain if each != "jp_client_1"])


class InstalledAsAWhole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, BUILD)
        cls.root, cls.prefix = cls.installed.root, cls.installed.prefix

    def test_nothing_else_is_there(self):
        found = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir()}
        library = next(self.prefix.rglob("libjpeer-client.a")).parent.relative_to(self.prefix)  # lib64, lib/TRIPLET
        found = {re.sub(f"^{library}/", "lib/", path) for path in found}
        self.assertEqual(set(), {path for path in found if not any(fnmatch.fnmatch(path, each) for each in TREE)})
        self.assertEqual(set(), {each for each in TREE if not fnmatch.filter(found, each)})

    def test_the_bills_of_materials_and_the_licences(self):
        self.assertEqual([], complaints(self.prefix, BUILD))

    def test_the_component_python3_is_the_package(self):
        if not (BUILD / "python/jpeer/_native.abi3.so").exists():
            self.skipTest("the Python package is not built")
        installed = Installed(type(self), BUILD, "program", "python3")
        self.assertEqual([], complaints(installed.prefix, BUILD))
        modules = installed.prefix / "lib/python3/dist-packages"
        code = "import importlib.metadata, jpeer; print(importlib.metadata.version('jpeer') == jpeer.__version__, jpeer.__file__)"
        self.assertEqual(f"True {modules}/jpeer/__init__.py\n", run(sys.executable, "-c", code, env={"PYTHONPATH": str(modules)}))
        project = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text(encoding="utf-8"))["project"]
        found = importlib.metadata.Distribution.at(next(modules.glob("*.dist-info"))).entry_points
        self.assertEqual({(group, *point) for group, points in project["entry-points"].items() for point in points.items()},
                         {(point.group, point.name, point.value) for point in found})

    def test_the_sample_policy_is_good(self):
        policy = self.prefix / "share/doc/jpeer/examples/policy.yaml"
        self.assertEqual(f"{policy}: good\n", run(self.prefix / "bin/jpeer", "policy", "check", policy))

    def test_the_program_runs(self):
        ready = self.root / "ready.json"
        with subprocess.Popen([self.prefix / "bin/jpeer", "run", "--json-rpc", f"unix:{self.root}/socket", "--ready-file", ready,
                               "--rpc-allow", "java.lang.Math", "--as-service"], env=environment(),
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as peer:
            try:
                eventually(lambda: ready.exists() or self.assertIsNone(peer.poll()), "the program is ready")
                peer.send_signal(signal.SIGTERM)
                peer.communicate(timeout=STOP_SECONDS)
            finally:
                peer.kill()
        self.assertIn(peer.returncode, (0, 128 + signal.SIGTERM))

    def test_a_program_is_built_with_the_installed_library(self):
        (self.root / "program.c").write_text(PROGRAM, encoding="utf-8")
        self.assertEqual(OUTPUT, self.installed.run(self.installed.build("program.c", "jpeer-client")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
