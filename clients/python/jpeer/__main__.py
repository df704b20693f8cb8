"""python -m jpeer stubs PATTERN... -o FOLDER"""

import argparse
import sys
from pathlib import Path

from .connection import connect, launch
from .stubs import write_stubs


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m jpeer")
    commands = parser.add_subparsers(required=True)
    stubs = commands.add_parser("stubs", help="write .pyi files for Java classes")
    stubs.add_argument("patterns", nargs="+", metavar="PATTERN", help="such as 'java.util.**' or com.example.Order")
    stubs.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the files go")
    stubs.add_argument("-cp", "--classpath", default="", help="jars and folders, as for jpeer.launch")
    stubs.add_argument("--url", help="a peer that runs, in place of one that is launched")
    stubs.add_argument("--ca-file", metavar="FILE", help="the authorities (PEM) of a wss: or https: URL; default: the system's")
    stubs.add_argument("--token-file", metavar="FILE", help="a file with the token for the peer at the URL")
    given = parser.parse_args(arguments)
    if not given.url and (given.ca_file or given.token_file):
        stubs.error("--ca-file and --token-file need --url")
    try:
        with connect(given.url, ca_file=given.ca_file, token_file=given.token_file) if given.url else launch(given.classpath) as java:
            count = write_stubs(java, given.patterns, given.output)
    except (OSError, ValueError) as error:  # the folder cannot be written to, or no peer is reached by the URL
        stubs.exit(1, f"{stubs.prog}: {error}\n")
    if count == 0:
        stubs.exit(1, f"{stubs.prog}: no public class is called {' or '.join(given.patterns)}\n")
    print(f"{count} classes in {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
