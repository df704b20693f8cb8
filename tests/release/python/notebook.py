"""Executes the notebooks of docs/notebooks in Jupyter, with the wheel that tools/build-wheel makes, and checks the outputs of
their cells.

usage: notebook.py [--write] [NAME]...

--write: keeps the outputs in the notebooks. If the libraries of a notebook cannot be fetched, its test is
skipped and the reason printed.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import run

FOLDER = run.ROOT / "docs/notebooks"
PACKAGES = ["nbclient==0.10.2", "ipykernel==6.29.5", "matplotlib==3.10.0"]
# For each notebook: the folder of its jars, the jars, and its packages.
NOTEBOOKS = {"lucene": ("lucene", run.LIBRARIES["lucene"], []), "tables": ("h2", run.LIBRARIES["h2_rows"][:1], ["pandas==3.0.0"])}
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


def execute(name, folder):
    """Executes the notebook in a folder that has the jars, as the first cell demands."""
    place, libraries, packages = NOTEBOOKS[name]
    jars = [Path(run.fetch(each)) for each in libraries]
    python = run.make_interpreter(folder / "venv")
    run.install(python, PACKAGES + packages)
    (folder / place).mkdir()
    for jar in jars:
        (folder / place / jar.name).symlink_to(jar)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, "-c", EXECUTE, FOLDER / f"{name}.ipynb", folder / "done.ipynb"], cwd=folder, env=environment,
                          timeout=SECONDS, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return folder / "done.ipynb"


def outputs_of(notebook):
    """The text and the kinds of data of all cells."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    text = "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")
    return text, {kind for output in outputs for kind in output.get("data", {})}


def check_lucene(text):
    hits = [line for line in text.splitlines() if line[:5].strip().replace(".", "").isdigit()]
    missing = [each for each in ("Lucene 9.", "in a JVM of its own", "ParseException | Cannot parse 'exit AND'") if each not in text]
    return hits[0] if len(hits) == 10 and not missing else None


def check_tables(text):
    lines = text.splitlines()
    wanted = ["H2 2.", "35064 ", "2020-01-01", "coldest", "hours above 25 °C"]
    return lines[-1] if all(each in text for each in wanted) and int(lines[-1].split()[0]) > 100 else None


def check(name, notebook):
    text, kinds = outputs_of(notebook)
    line = {"lucene": check_lucene, "tables": check_tables}[name](text)
    if line is None or "image/png" not in kinds:
        raise AssertionError(f"{name}: {sorted(kinds)}\n{text}")
    return f"{len(notebook['cells'])} cells; {line}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*", default=list(NOTEBOOKS))
    given = parser.parse_args()
    statuses = []
    for name in given.names:
        def execute_and_check(folder, name=name):
            done = execute(name, folder)
            line = check(name, json.loads(done.read_text(encoding="utf-8")))
            if given.write:
                (FOLDER / f"{name}.ipynb").write_bytes(done.read_bytes())
            return line

        statuses.append(run.run_alone(f"{name}.ipynb", execute_and_check))
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
