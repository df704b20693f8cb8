"""Builds a Maven project outside the tree, and fetches libraries; reports if Maven cannot fetch them."""

import re
import shutil
import subprocess

from support.peer import ROOT

SECONDS = 600
DEPENDENCY_PLUGIN = "3.6.1"
UNREACHABLE = re.compile("could not be resolved|Could not resolve|Could not transfer|Non-resolvable parent")


class Unavailable(Exception):
    """A dependency cannot be fetched here."""


def run_maven(folder, *arguments):
    """Runs Maven. Returns None on success, or Maven's message about an unreachable registry."""
    done = subprocess.run(["mvn", "--quiet", "--batch-mode", *arguments], cwd=folder, timeout=SECONDS,
                          capture_output=True, text=True, check=False)
    # Maven always resets the terminal's colours.
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    if done.returncode != 0 and not UNREACHABLE.search(said):
        raise AssertionError(said)
    return None if done.returncode == 0 else said


def run_offline_first(folder, purpose, *arguments):
    """Runs Maven offline; if a dependency is missing, online."""
    complaint = run_maven(folder, "--offline", *arguments)
    if complaint is not None:
        complaint = run_maven(folder, *arguments)
    if complaint is not None:
        # Maven names the cause after the heading.
        cause = re.search("Could not transfer.*", complaint) or UNREACHABLE.search(complaint)
        raise Unavailable(f"Maven cannot {purpose}: {cause[0][:200]}")


def build(sources, name, *arguments, project="."):
    """Copies the sources to build/NAME, and builds the project there. Returns the project's folder."""
    if shutil.which("mvn") is None:
        raise Unavailable("Maven is not installed")
    folder = ROOT / "build" / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sources, folder)
    run_offline_first(folder / project, f"build {name}", *arguments)
    return folder / project


def class_path(name, libraries, without=()):
    """The jars of libraries (GROUP:ARTIFACT:VERSION) and of their dependencies, except WITHOUT
    (GROUP:ARTIFACT)."""
    if shutil.which("mvn") is None:
        raise Unavailable("Maven is not installed")
    folder = ROOT / "build/applications" / name
    folder.mkdir(parents=True, exist_ok=True)
    left_out = "".join(f"<exclusion>{tags(each, 'groupId', 'artifactId')}</exclusion>" for each in without)
    wanted = "".join(f"<dependency>{tags(each, 'groupId', 'artifactId', 'version')}<exclusions>{left_out}</exclusions></dependency>"
                     for each in libraries)
    (folder / "pom.xml").write_text(
        f'<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"{tags(f'jpeer.applications:{name}:1', 'groupId', 'artifactId', 'version')}<dependencies>{wanted}</dependencies></project>",
        encoding="utf-8")
    goal = [f"org.apache.maven.plugins:maven-dependency-plugin:{DEPENDENCY_PLUGIN}:build-classpath",
            f"-Dmdep.outputFile={folder}/class-path"]
    run_offline_first(folder, f"fetch {', '.join(libraries)}", *goal)
    return (folder / "class-path").read_text(encoding="utf-8").strip()


def tags(coordinates, *names):
    return "".join(f"<{name}>{part}</{name}>" for name, part in zip(names, coordinates.split(":"), strict=True))
