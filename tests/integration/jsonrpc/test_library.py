"""The installed library: the examples of docs/jsonrpc-library.md are taken out of the page, built and run.

usage: test_library.py BUILD_FOLDER PAGE
"""

import json
import re
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from support.installed import Installed, examples, run
from support.peer import kill_after

BUILD = Path(sys.argv[1])
PAGE = Path(sys.argv[2])
SECONDS = 60
SUBTRACT = {"jsonrpc": "2.0", "id": 1, "method": "subtract", "params": [42, 23]}
PACKAGE = """\
cmake_minimum_required(VERSION 3.25)
project(example C CXX)
find_package(jpeer-jsonrpc 0.9 REQUIRED)
foreach(kind jsonrpc jsonrpc-static)
  add_executable(stdio-${kind} stdio.c)
  target_link_libraries(stdio-${kind} PRIVATE jpeer::${kind})
endforeach()
add_executable(header header.cpp)
target_compile_options(header PRIVATE -Wall -Wextra -Wpedantic -Werror)
target_link_libraries(header PRIVATE jpeer::jsonrpc)
"""
HEADER = """\
#include <jpeer/jsonrpc.h>
int main() { return jp_jsonrpc_library_version() == JP_JSONRPC_VERSION_MAJOR * 1000 + JP_JSONRPC_VERSION_MINOR ? 0 : 1; }
"""


# The code around the part of the page that shows jansson.
BEFORE_JANSSON = "#include <jpeer/jsonrpc_jansson.h>\n#include <stdio.h>\n#include <string.h>\n"
AFTER_JANSSON = """
static int handle(void *context, struct jp_jsonrpc_call *call)
{
  (void)context;
  return add(call);
}

int main(void)
{
  char line[1000];
  struct jp_jsonrpc_reply reply;
  while (fgets(line, sizeof line, stdin) != NULL) {
    jp_jsonrpc_handle(&config, (struct jp_text){line, strlen(line)}, handle, NULL, &reply);
    printf("%.*s\\n", (int)reply.len, reply.data);
    jp_jsonrpc_reply_free(&reply);
  }
}
"""


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, BUILD, "jsonrpc-runtime", "jsonrpc")
        cls.root, cls.libraries = cls.installed.root, cls.installed.libraries
        for name, source in examples(PAGE).items():
            (cls.root / name).write_text(source, encoding="utf-8")
        part = re.search(r"<!-- part -->\n```c\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL).group(1)
        (cls.root / "jansson.c").write_text(BEFORE_JANSSON + part + AFTER_JANSSON, encoding="utf-8")

    def build(self, name, package="jpeer-jsonrpc"):
        return self.installed.build(name, package)

    def exchange(self, program, *lines):
        output = self.installed.run(program, input="".join(line + "\n" for line in lines))
        return [json.loads(line) for line in output.splitlines()]

    def check_server(self, program):
        notification = {"jsonrpc": "2.0", "method": "subtract", "params": [1, 2]}
        named = {"jsonrpc": "2.0", "id": "x", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}}
        replies = self.exchange(program, json.dumps(SUBTRACT), json.dumps(notification), json.dumps(named), "dummy",
                                json.dumps([SUBTRACT, {"jsonrpc": "2.0", "id": 2, "method": "other"}]))
        self.assertEqual([
            {"jsonrpc": "2.0", "id": 1, "result": 19},
            {"jsonrpc": "2.0", "id": "x", "result": 19},
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
            [{"jsonrpc": "2.0", "id": 1, "result": 19},
             {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "Method not found"}}],
        ], replies)

    def test_the_server_over_stdio_is_short_and_runs(self):
        lines = (self.root / "stdio.c").read_text(encoding="utf-8").rstrip().split("\n")
        self.assertLessEqual(len([line for line in lines if line.strip()]), 30)
        self.check_server(self.build("stdio.c"))

    def test_the_server_over_tcp(self):
        with subprocess.Popen([self.build("tcp.c")], stdout=subprocess.PIPE, env=self.installed.environment) as server:
            with kill_after(server):
                port = int(server.stdout.readline())
            for number in (1, 2):
                with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
                    connection.sendall(json.dumps(SUBTRACT).encode() + b"\n")
                    reply = json.loads(connection.makefile().readline())
                self.assertEqual({"method": "subtract", "params": [42, 23], "served": number}, reply["result"])
            server.kill()

    def test_the_archive_is_for_every_compiler(self):
        archive = next(self.installed.prefix.rglob("libjpeer-jsonrpc.a"))
        sections = run("readelf", "--sections", "--wide", archive)
        self.assertIn(".text", sections)
        self.assertNotIn(".gnu.lto_", sections)
        self.assertNotIn(".gnu.debuglto_", sections)

    def test_the_handler_with_jansson(self):
        program = self.build("jansson.c", "jpeer-jsonrpc-jansson")
        sum_up = {"jsonrpc": "2.0", "id": 1, "method": "add", "params": [2, 3]}
        good, bad = self.exchange(program, json.dumps(sum_up), json.dumps({**sum_up, "params": ["2"]}))
        self.assertEqual(5, good["result"])
        self.assertEqual((-32602, "two integers are wanted"), (bad["error"]["code"], bad["error"]["data"]))

    def test_decoded_messages(self):
        program = self.build("decoded.c", "jpeer-jsonrpc-jansson")
        notification = {"jsonrpc": "2.0", "method": "subtract", "params": [1, 2]}
        replies = self.exchange(program, json.dumps(SUBTRACT), json.dumps(notification), "dummy", '{"x":42}',
                                json.dumps([SUBTRACT, notification, {**SUBTRACT, "id": 2, "params": ["2"]}]))
        self.assertEqual([
            {"jsonrpc": "2.0", "id": 1, "result": 19},
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}},
            [{"jsonrpc": "2.0", "id": 1, "result": 19},
             {"jsonrpc": "2.0", "id": 2,
              "error": {"code": -32602, "message": "Invalid params", "data": "two integers are wanted"}}],
        ], replies)

    def test_jansson_is_needed_only_by_its_own_package(self):
        for package, needs_it in (("jpeer-jsonrpc", False), ("jpeer-jsonrpc-jansson", True)):
            required = self.installed.run("pkg-config", "--print-requires", package).split()
            self.assertEqual(needs_it, "jansson" in required)
        needed = run("readelf", "-d", self.libraries / "libjpeer-jsonrpc.so")
        self.assertNotIn("jansson", needed)

    def test_the_client(self):
        reply = [{"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "Method not found"}},
                 {"jsonrpc": "2.0", "id": 1, "result": 19}]
        lines = self.installed.run(self.build("client.c"), input=json.dumps(reply) + "\n").splitlines()
        self.assertEqual([SUBTRACT, {"jsonrpc": "2.0", "id": 2, "method": "nothing"}], json.loads(lines[0]))
        self.assertEqual(["nothing: error -32601 \"Method not found\"", "the difference: 19"], lines[1:])

    def test_the_cmake_package_with_c_and_cxx(self):
        source = self.root / "package"
        source.mkdir()
        shutil.copy(self.root / "stdio.c", source)
        (source / "CMakeLists.txt").write_text(PACKAGE, encoding="utf-8")
        (source / "header.cpp").write_text(HEADER, encoding="utf-8")
        build = self.installed.build_by_cmake(source)
        run(build / "header")
        for kind in ("jsonrpc", "jsonrpc-static"):
            self.check_server(build / f"stdio-{kind}")

    def test_the_libraries_export_public_names_only(self):
        for options, name in ((["-D"], "libjpeer-jsonrpc.so"), (["-g"], "libjpeer-jsonrpc.a")):
            names = self.installed.public_names(name, *options)
            self.assertIn("jp_jsonrpc_handle", names)
            self.assertEqual([], [name for name in names if not name.startswith("jp_")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
