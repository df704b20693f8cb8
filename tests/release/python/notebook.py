"""Executes docs/notebooks/lucene.ipynb in Jupyter, with the wheel that tools/build-wheel makes, and checks the outputs of
its cells.

usage: notebook.py [--write]

--write: keeps the outputs in the notebook. If the libraries of the notebook cannot be fetched, the test is
skipped and the reason printed.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import run

NOTEBOOK = run.ROOT / "docs/notebooks/lucene.ipynb"
PACKAGES = ["nbclient==0.10.2", "ipykernel==6.29.5", "matplotlib==3.10.0"]
SECONDS = 300
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
for cell in notebook.cells:
    cell.metadata.clear()
notebook.metadata["language_info"] = {"name": "python"}
nbformat.write(notebook, sys.argv[2])
"""


def execute(folder):
    """Executes the notebook in a folder that has the jars, as the first cell demands."""
    jars = [Path(run.fetch(each)) for each in run.LIBRARIES["lucene"]]
    python = run.make_interpreter(folder / "venv")
    run.install(python, PACKAGES)
    (folder / "lucene").mkdir()
    for jar in jars:
        (folder / "lucene" / jar.name).symlink_to(jar)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, "-c", EXECUTE, NOTEBOOK, folder / "done.ipynb"], cwd=folder, env=environment,
                          timeout=SECONDS, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return folder / "done.ipynb"


def outputs_of(notebook):
    """The text and the kinds of data of all cells."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    text = "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")
    return text, {kind for output in outputs for kind in output.get("data", {})}


def check(notebook):
    text, kinds = outputs_of(notebook)
    wanted = ["Lucene 9.", "in a JVM of its own", "ParseException | Cannot parse 'exit AND'"]
    missing = [each for each in wanted if each not in text]
    hits = [line for line in text.splitlines() if line[:5].strip().replace(".", "").isdigit()]
    if missing or len(hits) != 10 or "image/png" not in kinds:
        raise AssertionError(f"missing: {missing}; {len(hits)} hits; {sorted(kinds)}\n{text}")
    return f"{len(notebook['cells'])} cells; best hit: {hits[0]}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()

    def execute_and_check(folder):
        done = execute(folder)
        line = check(json.loads(done.read_text(encoding="utf-8")))
        if given.write:
            NOTEBOOK.write_bytes(done.read_bytes())
        return line

    return run.run_alone(NOTEBOOK.name, execute_and_check)


if __name__ == "__main__":
    sys.exit(main())
