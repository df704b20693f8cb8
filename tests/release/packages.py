"""Tests the packages (docs/packages.md) as root in a Debian 12 that has only its base system.

usage: packages.py [--no-build] [PATTERN...]

tools/build-packages builds them, if they are not there yet or to be renewed. The archive runs first, in a folder with a space in its name, where only a Java runtime
was installed; on Debian 13, too, if its mirror is reached. Then the .deb packages are installed, upgraded, used and
purged. lintian reads them. Their bills of materials are compared with their files.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.bare_root import BareRoot  # noqa: E402
from support.sbom import complaints  # noqa: E402

VERSION = re.search(r"^project\(jpeer VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)[1]
NAMES = ("jpeer", "libjpeer1", "libjpeer-dev", "python3-jpeer")
# A peer that listens, and a call of it; then the shell with a peer of its own. `jpeer` is the command.
USE = r"""
set -eu
jpeer --version
jpeer run --json-rpc unix:/tmp/peer.socket --ready-file /tmp/ready.json --rpc-policy "$policy" --as-service & peer=$!
trap 'kill $peer 2>/dev/null || true' EXIT
for i in $(seq 600); do [ -e /tmp/ready.json ] && break; sleep 0.1; done
jpeer call --url ws+unix:/tmp/peer.socket 'Math.max(3, 5)'
sed -n 's/^[^/]* \(\/.*[.]so[^/]*\)$/library \1/p' /proc/$peer/maps | sort -u
kill $peer
wait $peer || true
jpeer shell -cp . -e 'xs = [3, 1, 2]; xs.sort((a, b) -> b.compareTo(a)); xs'
"""
PYTHON = """
import jpeer
with jpeer.launch() as java:
    xs = java.java.util.ArrayList([3, 1, 2])
    xs.sort(lambda a, b: a - b)
    print(list(xs), jpeer.__file__, jpeer.__version__)
"""
PROGRAM = """
#include <jpeer/client.h>
#include <stdio.h>
int main(void)
{
  struct jp_client *client;
  struct jp_client_error error;
  if (jp_client_open("ws+unix:/nonexistent/peer", NULL, &client, &error) != JP_CLIENT_REFUSED)
    return 1;
  puts(error.text);
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(example C)
find_package(jpeer-client 0.9 REQUIRED)
foreach(kind client client-static)
  add_executable(${kind} program.c)
  target_link_libraries(${kind} PRIVATE jpeer::${kind})
endforeach()
"""
REFUSED = "ws+unix:/nonexistent/peer: No such file or directory"


def build(is_needed):
    if is_needed:
        subprocess.run([ROOT / "tools/build-packages"], check=True)
    paths = sorted((ROOT / "build").glob("*/packages/*"))
    debs = {path.name.split("_")[0]: path for path in paths if path.suffix == ".deb"}
    assert set(debs) == set(NAMES), debs
    return debs, next(path for path in paths if path.name.endswith(".tar.gz"))


def older(deb, folder):
    """The same package in a lower version, with a file that the newer one does not have."""
    tree = folder / "older" / deb.name
    tree.parent.mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "--raw-extract", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text(encoding="utf-8").replace(f"{VERSION}-1", "0.0.1-1"), encoding="utf-8")
    (tree / "usr/share/doc" / deb.name.split("_")[0] / "removed-later").write_text("x\n", encoding="utf-8")
    made = folder / f"older-{deb.name.split('_')[0]}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, made], stdout=subprocess.DEVNULL, check=True)
    return made


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.debs, cls.archive = PACKAGES
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-packages-")))

    def test_bills_of_materials_and_licences_of_the_debian_packages(self):
        for name, deb in self.debs.items():
            with self.subTest(name):
                tree = self.folder / name
                subprocess.run(["dpkg-deb", "--extract", deb, tree], check=True)
                self.assertEqual([], complaints(tree / "usr", ROOT / "build/deb"))
                self.assertTrue((tree / "usr/share/doc" / name / "copyright").is_file())

    def test_bills_of_materials_and_licences_of_the_archive(self):
        subprocess.run(["tar", "--extract", "--file", self.archive, "--directory", self.folder], check=True)
        tree = self.folder / self.archive.name.removesuffix(".tar.gz")
        self.assertEqual([], complaints(tree, ROOT / "build/tar"))
        versions = set()
        for path in [tree / "bin/jpeer", *(tree / "lib").glob("*.so"), *(tree / "lib/jpeer").iterdir()]:
            symbols = subprocess.run(["readelf", "--version-info", "--wide", path], stdout=subprocess.PIPE, text=True, check=True).stdout
            versions |= {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", symbols)}
        self.assertLessEqual(max(versions), (2, 36))  # Debian 12's

    def test_lintian(self):
        subprocess.run([ROOT / "tools/install-packages", "lintian"], check=True)
        done = subprocess.run(["lintian", "--allow-root", "--show-overrides", *self.debs.values()], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout)
        self.assertEqual((0, []), (done.returncode, [line for line in done.stdout.splitlines() if not line.startswith(("O:", "N:"))]))


class Used(unittest.TestCase):
    def check_use(self, root, libraries, **variables):
        output = root.run("sh", "-c", USE, **variables)
        lines = output.splitlines()
        print("\n".join(line for line in lines if not line.startswith("library ")))
        self.assertRegex(lines[0], rf"jpeer {re.escape(VERSION)} \(commit [0-9a-f]+.*, RelWithDebInfo\)")
        self.assertIn("5", lines)
        self.assertEqual("$1 java.util.ArrayList (3) [3, 2, 1]", lines[-1])
        loaded = {line.removeprefix("library ") for line in lines if line.startswith("library ")}
        self.assertTrue(any("libzmq" in path for path in loaded), loaded)
        self.assertEqual(libraries, {str(Path(path).parent) for path in loaded if re.search("lib(zmq|jansson|ssl|zip|krb5)[.-]", path)})

    def check_archive(self, root):
        home = root.folder / "opt/a folder"
        home.mkdir()
        subprocess.run(["tar", "--extract", "--no-same-owner", "--file", PACKAGES[1], "--directory", home], check=True)
        place = f"/opt/a folder/{PACKAGES[1].name.removesuffix('.tar.gz')}"
        self.check_use(root, {f"{place}/lib/jpeer"}, policy=f"{place}/share/doc/jpeer/examples/policy.yaml",
                       PATH=f"{place}/bin:/usr/bin:/bin")
        return place

    def test_the_archive_on_debian_13(self):
        try:
            newer = BareRoot("trixie", ["default-jre-headless"]).__enter__()
        except SystemExit as error:
            self.skipTest(f"no Debian 13: {error}")
        with newer:
            self.check_archive(newer)

    def test_archive_and_packages_on_debian_12(self):
        with BareRoot("bookworm") as root, tempfile.TemporaryDirectory(prefix="jpeer-packages-") as folder:
            root.run("apt-get", "update", "-q")
            root.install("default-jre-headless", "python3-minimal")
            place = self.check_archive(root)
            # What packages of others leave is theirs; they are needed by jpeer's.
            debs = PACKAGES[0]
            for name, deb in debs.items():
                shutil.copy(deb, root.folder / "opt" / f"{name}.deb")
                shutil.copy(older(deb, Path(folder)), root.folder / "opt" / f"older-{name}.deb")
            depends = {re.split(r"[ (|]", each.strip())[0] for deb in debs.values() for each in subprocess.run(
                ["dpkg-deb", "--field", deb, "Depends"], stdout=subprocess.PIPE, text=True, check=True).stdout.split(",")}
            root.install(*(depends - set(NAMES)), "gcc", "pkg-config", "cmake", "make", "libc6-dev")
            with zipfile.ZipFile(root.folder / "usr/share/java/any.jar", "w"):
                pass  # docs/python.md has a class path of all jars there
            wants = root.folder / "etc/systemd/system/multi-user.target.wants"
            wants.mkdir(parents=True, exist_ok=True)
            before = root.files()
            with self.subTest("the archive's libraries, by CMake and by pkg-config"):
                self.build_programs(root, place)
            with self.subTest("upgrade"):
                root.install(*(f"/opt/older-{name}.deb" for name in NAMES))
                self.assertIn("usr/share/doc/jpeer/removed-later", root.files())
                root.install(*(f"/opt/{name}.deb" for name in NAMES))
                self.assertNotIn("usr/share/doc/jpeer/removed-later", root.files())
                self.assertEqual({f"{VERSION}-1"}, set(root.run("dpkg-query", "--show", "--showformat=${Version}\n", *NAMES).split()))
            with self.subTest("use"):
                self.check_use(root, {"/usr/lib/x86_64-linux-gnu"}, policy="/usr/share/doc/jpeer/examples/policy.yaml")
                printed = root.run("python3", "-c", PYTHON).split("\n")[-2]
                self.assertEqual(f"[1, 2, 3] /usr/lib/python3/dist-packages/jpeer/__init__.py {VERSION}", printed)
                self.run_the_python_examples(root)
                self.assertIn("jpeer", root.run("dpkg-query", "--listfiles", "jpeer"))
            with self.subTest("programs in C"):
                self.build_programs(root, None)
            with self.subTest("purge"):
                (root.folder / "etc/jpeer/app.conf").write_text("--as-service\n", encoding="utf-8")
                (root.folder / "var/lib/private/jpeer/app").mkdir(parents=True)
                (wants / "jpeer@app.service").symlink_to("/lib/systemd/system/jpeer@.service")  # systemctl enable jpeer@app
                root.run("apt-get", "purge", "-y", "-q", *NAMES)
                self.assertEqual(set(), root.files() - before)

    def run_the_python_examples(self, root):
        shutil.copy(ROOT / "docs/python.md", root.folder / "opt/python.md")
        program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)[1]
        self.assertEqual(re.findall(r"print\(.*\)  # (.*)", program), root.run("python3", "-c", program).splitlines())
        root.run("python3", "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "/opt/python.md")

    def build_programs(self, root, place):
        source = root.folder / "opt/source"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        (source / "program.c").write_text(PROGRAM, encoding="utf-8")
        (source / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        # A space in -I or -L needs quotes in each shell: the archive's files are found by a link, too.
        link = root.folder / "opt/linked"
        link.unlink(missing_ok=True)
        variables = {}
        if place:
            link.symlink_to(place)
            variables = {"PKG_CONFIG_PATH": "/opt/linked/lib/pkgconfig", "LD_LIBRARY_PATH": "/opt/linked/lib", "CMAKE_PREFIX_PATH": place}
        for words in ("cc program.c -o shared $(pkg-config --cflags --libs jpeer-client) && ./shared",
                      "cmake -B build -DCMAKE_BUILD_TYPE=Release >log && cmake --build build >>log && build/client && build/client-static"):
            self.assertEqual({REFUSED}, set(root.run("sh", "-c", f"cd /opt/source && {words}", **variables).splitlines()))


if __name__ == "__main__":
    PACKAGES = build("--no-build" not in sys.argv)
    patterns = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    unittest.main(argv=[sys.argv[0], *(word for pattern in patterns for word in ("-k", pattern))])
