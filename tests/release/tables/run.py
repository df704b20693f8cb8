"""Tests of tables that need libraries and servers: pandas, pyarrow, polars, duckdb, SQLAlchemy, PostgreSQL, MariaDB.

usage: run.py [PATTERN]

Installs the libraries from PyPI into a virtual environment outside the tree, once. Runs the modules of this folder that
match PATTERN (test_*.py) with the package of a build (JPEER_BUILD), and the package's own tests of tables, so that they
use these libraries, too. If PyPI is not reached, nothing runs, and the reason is printed.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILD = os.environ.get("JPEER_BUILD", "build/release")
BUILDERS = ["setuptools==80.9.0", "wheel==0.45.1"]  # dbapi-compliance has no wheel
PACKAGES = ["dbapi-compliance==1.15.0", "duckdb==2.0.1", "numpy==2.4.6", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1",
            "sqlalchemy==2.1.9"]
OWN = ["test_tables.py", "test_dbapi.py"]


def make_environment():
    """The interpreter, or None where PyPI is not reached."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jpeer/tables"
    python, stamp = folder / "bin/python", folder / "packages"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != " ".join(PACKAGES):
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", folder], check=True)
        for packages, more in ((BUILDERS, []), (PACKAGES, ["--no-build-isolation"])):
            done = subprocess.run([python, "-m", "pip", "install", "--quiet", *more, *packages], stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                print(f"tables: the libraries cannot be fetched: {done.stderr.strip()[-300:]}", flush=True)
                return None
        stamp.write_text(" ".join(PACKAGES), encoding="utf-8")
    return python


def main(pattern="test_*.py"):
    python = make_environment()
    if python is None:
        return 0
    with tempfile.TemporaryDirectory(prefix="jpeer-tables-") as folder:
        # SQLAlchemy finds the dialects by the package's metadata, which a build folder lacks
        info = Path(folder, "jpeer-0.dist-info")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jpeer\nVersion: 0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(entry_points(), encoding="utf-8")
        path = [folder, ROOT / BUILD / "python", ROOT / "clients/python/tests", HERE]
        environment = {**os.environ, "PYTHONPATH": ":".join(map(str, path)), "JPEER_BUILD": BUILD}
        modules = sorted(HERE.glob(pattern)) + [ROOT / "clients/python/tests" / name for name in OWN if Path(name).match(pattern)]
        command = [python, "-m", "unittest", "-v", *(module.stem for module in modules)]
        return subprocess.run(command, cwd=HERE, env=environment, check=False).returncode


def entry_points():
    """The entry points of the package, as its wheel has them."""
    with open(ROOT / "clients/python/pyproject.toml", "rb") as file:
        groups = tomllib.load(file)["project"]["entry-points"]
    return "".join(f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in members.items()) for group, members in groups.items())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
