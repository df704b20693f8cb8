"""Compares the bills of materials of an installed tree (tools/sbom) with what its files are made of."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Bytes by which compiled code of others is recognised.
MARKS = {"llhttp": b"HPE_INVALID_URL"}


def needed_by(path):
    """The libraries that a file needs, except those of jpeer."""
    if path.suffix == ".a":
        return set()
    dynamic = subprocess.run(["readelf", "--dynamic", "--wide", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name for name in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic) if not name.startswith("libjpeer-")}


def is_linked(path):
    with path.open("rb") as file:
        return file.read(8).startswith((b"\x7fELF", b"!<arch>\n"))


def foreign_sources(build):
    """The folders outside the tree from which a build compiles."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    home = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.+)$", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.M)[1]
    return {command["file"].split("/")[-2] for command in commands
            if not command["file"].startswith((f"{home}/", f"{build.resolve()}/"))}


def code_complaints(content):
    """SPDX 2.3, 7.8 and 7.9: a package that contains files has the SHA-1 sum of their sorted SHA-1 sums, and others have none."""
    sums = {file["SPDXID"]: each["checksumValue"] for file in content["files"] for each in file["checksums"] if each["algorithm"] == "SHA1"}
    for package in content["packages"]:
        inside = sorted(sums[each["relatedSpdxElement"]] for each in content["relationships"]
                        if each["spdxElementId"] == package["SPDXID"] and each["relatedSpdxElement"] in sums)
        code = {"packageVerificationCodeValue": hashlib.sha1("".join(inside).encode()).hexdigest()} if inside else None
        if (package["filesAnalyzed"], package.get("packageVerificationCode")) != (bool(inside), code):
            yield f"{package['name']} contains {len(inside)} files, and its code is another"


def wheel_complaints(tree):
    """What an unpacked wheel lacks: its page for PyPI, licences, their names in METADATA, compiled code of others in the bill."""
    info = next(tree.glob("*.dist-info"))
    headers, _, page = (info / "METADATA").read_text(encoding="utf-8").partition("\n\n")
    if "\nDescription-Content-Type: text/markdown" not in headers or page != (ROOT / "clients/python/README.md").read_text(encoding="utf-8"):
        yield "METADATA has not the page clients/python/README.md"
    bill = json.loads((info / "sboms/jpeer.spdx.json").read_text(encoding="utf-8"))
    yield from code_complaints(bill)
    libraries = {package["name"] for package in bill["packages"]} - {"jpeer"}
    named = set(re.findall(r"^License-File: (.*)$", (info / "METADATA").read_text(encoding="utf-8"), re.M))
    present = {path.relative_to(info / "licenses").as_posix() for path in (info / "licenses").rglob("*") if path.is_file()}
    if not present == named == {"LICENSE", *(f"libraries/{name}.txt" for name in libraries)}:
        yield f"{sorted(libraries)} are inside, {sorted(present)} are the licences, and METADATA names {sorted(named)}"
    for file in bill["files"]:
        marked = {name for name, mark in MARKS.items() if mark in (tree / file["fileName"]).read_bytes()}
        if not marked <= libraries:
            yield f"{file['fileName']} has {sorted(marked)}, and the bill does not"


class Document:
    def __init__(self, path, prefix):
        self.folder, self.name = path.parent, path.name
        content = self.content = json.loads(path.read_text(encoding="utf-8"))
        self.packages = {package["SPDXID"]: package for package in content["packages"]}
        self.files = {file["SPDXID"]: (prefix / file["fileName"], file["checksums"]) for file in content["files"]}
        self.relationships = [tuple(each[key] for key in ("spdxElementId", "relationshipType", "relatedSpdxElement"))
                              for each in content["relationships"]]

    def related(self, kind, wanted, by=None):
        return {other for one, each, other in self.relationships if each == kind and other in wanted and by in (None, one)}

    def names(self, keys):
        return {self.packages[key]["name"] for key in keys}

    def complaints(self):
        yield from code_complaints(self.content)
        package_of = {name: key for key, package in self.packages.items() if "Debian" in package.get("supplier", "")
                      for name in package["sourceInfo"].split()}
        bundled = self.related("CONTAINS", self.packages)
        compiled = self.related("STATIC_LINK", self.packages)
        marked, used = set(), {name for name, key in package_of.items() if key in bundled}
        for owner in {one for one, kind, other in self.relationships if kind == "CONTAINS" and other in self.files}:
            needed = set()
            for key in self.related("CONTAINS", self.files, owner):
                path, checksums = self.files[key]
                content = path.read_bytes()
                marked |= {name for name, mark in MARKS.items() if mark in content}
                if {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()} not in checksums:
                    yield f"{path} has another checksum"
                needed |= needed_by(path)
            used |= needed
            if {package_of.get(name) for name in needed} != self.related("DYNAMIC_LINK", self.packages, owner):
                yield f"{owner} needs {sorted(needed)}"
        if used != set(package_of):
            yield f"the files need {sorted(used)}, and {sorted(package_of)} are named"
        if marked != self.names(compiled):
            yield f"{sorted(marked)} is compiled in, and {sorted(self.names(compiled))} is named"
        copyright_file = self.folder / "copyright"
        for name in self.names(compiled | bundled):
            if copyright_file.exists() and f"\nFiles: {name}/" not in copyright_file.read_text(encoding="utf-8") or \
                    not copyright_file.exists() and not (self.folder / "third-party" / f"{name}.txt").is_file():
                yield f"the licence of {name} is not there"
        opened = {one for one, kind, _ in self.relationships if kind == "RUNTIME_DEPENDENCY_OF"}
        for key, package in self.packages.items():
            if package["licenseDeclared"] == "NOASSERTION" and key not in opened:
                yield f"no licence is named for {package['name']}"


def complaints(prefix, build):
    """What the documents below `prefix` say wrongly, and what no document describes. `build` is where the files come from."""
    documents = [Document(path, prefix) for path in sorted(prefix.rglob("*.spdx.json"))]
    found = [f"{document.name}: {text}" for document in documents for text in document.complaints()]
    described = {path.resolve() for document in documents for path, _ in document.files.values()}
    found += [f"no document describes {path}" for path in sorted(prefix.rglob("*"))
              if path.is_file() and path.resolve() not in described and is_linked(path)]
    found += [f"nothing recognises the code of {name}" for name in sorted(foreign_sources(build) - set(MARKS))]
    return found if documents else ["no document is there"]
