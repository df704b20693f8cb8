"""The programs of docs/c-client.md that call libjpeer-client by a foreign function interface, from Node (koffi) and
Ruby (fiddle).

Prints one line for each program, and the counts. If a language or its package is not available, its program is skipped;
at least one program must run.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.examples import foreign_examples  # noqa: E402
from support.peer import BUILD, Peer, environment  # noqa: E402

KOFFI = "koffi@3.3.4"
SECONDS = 180


def node_modules():
    """The folder with koffi. None if npm or its registry is out of reach."""
    if not shutil.which("node") or not shutil.which("npm"):
        return None
    done = subprocess.run([ROOT / "tools/fetch-npm", KOFFI], capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def main():
    examples = foreign_examples(ROOT / "docs/c-client.md")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    modules = node_modules()
    with tempfile.TemporaryDirectory(prefix="jpeer-foreign-") as folder, Peer() as peer:
        for component in ("jsonrpc-runtime", "client-runtime"):
            subprocess.run(["cmake", "--install", BUILD, "--component", component, "--prefix", f"{folder}/prefix"], check=True,
                           stdout=subprocess.DEVNULL, timeout=SECONDS)
        library = next(Path(folder, "prefix").rglob("libjpeer-client.so.1")).parent
        variables = environment(LD_LIBRARY_PATH=str(library), NODE_PATH=modules or "")
        for name, runtime, is_there in (("calculator.cjs", "node", modules is not None),
                                        ("calculator.rb", "ruby", shutil.which("ruby") is not None)):
            program = Path(folder, name)
            program.write_text(examples[name], encoding="utf-8")
            verdict, word = "skipped", f"{runtime}, or its packages, are not available"
            if is_there:
                done = subprocess.run([runtime, program, peer.address("ws")], env=variables, capture_output=True, text=True,
                                      timeout=SECONDS, check=False)
                verdict = "passed" if (done.returncode, done.stdout) == (0, "result: 8\n") else "failed"
                word = done.stdout.strip() or done.stderr[-300:]
            counts[verdict] += 1
            print(f"{verdict:8}{name}: {word}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), flush=True)
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
