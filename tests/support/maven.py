"""Builds a Maven project outside the tree; says so where Maven cannot fetch what the project needs."""

import re
import shutil
import subprocess

from support.peer import ROOT

SECONDS = 600
UNREACHABLE = re.compile("could not be resolved|Could not resolve|Could not transfer|Non-resolvable parent")


class Unavailable(Exception):
    """Something that is needed cannot be fetched here."""


def run_maven(folder, *arguments):
    """None where all went well, or what Maven said of a registry that is out of reach."""
    done = subprocess.run(["mvn", "--quiet", "--batch-mode", *arguments], cwd=folder, timeout=SECONDS,
                          capture_output=True, text=True, check=False)
    # Even where it has nothing to say, Maven resets the terminal's colours.
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    if done.returncode != 0 and not UNREACHABLE.search(said):
        raise AssertionError(said)
    return None if done.returncode == 0 else said


def build(sources, name, *arguments, project="."):
    """Copies the sources to build/NAME, and builds the project in that folder of them; gives the project's folder.

    Once Maven has fetched all that it needs, it is not let to its registry again.
    """
    if shutil.which("mvn") is None:
        raise Unavailable("Maven is not installed")
    folder = ROOT / "build" / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sources, folder)
    complaint = run_maven(folder / project, "--offline", *arguments)
    if complaint is not None:
        complaint = run_maven(folder / project, *arguments)
    if complaint is not None:
        # Maven names the cause behind the heading.
        cause = re.search("Could not transfer.*", complaint) or UNREACHABLE.search(complaint)
        raise Unavailable(f"Maven cannot build {name}: {cause[0][:200]}")
    return folder / project
