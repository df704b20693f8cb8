"""How applications start and end: with every kind of main and of jar, and with mistakes in the command line. Here
the application ends the process; test_start.py tests signals."""

import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from support import jdks
from support.peer import FIXTURES, jvm_options, run_to_end
from support.peer_case import PeerCase, on_each_jdk

CLASSES = ("-cp", FIXTURES)
MAIN = (*CLASSES, "fixtures.Main")
DEEP = ("Main-Class: fixtures.Mains$Deep\n"
        "Add-Opens: java.base/java.lang java.base/no.such.package no.module/x\n"
        "Add-Exports: java.base/sun.security.util nonsense\n")


def mains(name):
    return (*CLASSES, f"fixtures.Mains${name}")


class Application(PeerCase):
    def check_all(self, jvm, rows):
        """Runs the command line of each row. A row: the exit status, the whole standard output (None: any), a part of
        the standard error, and the command line."""
        for status, printed, said, *line in rows:
            done = run_to_end("run", "--log-level", "warn", "--json-rpc", "auto", *jvm, *jvm_options(), *line)
            with self.subTest(line=line):
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stdout, done.stdout if printed is None else printed)
                self.assertIn(said, done.stderr)

    @on_each_jdk
    def test_the_end_of_the_application_ends_the_process(self, jvm):
        self.check_all(jvm, (
            (0, "main return\n", "", *MAIN, "return"),
            (0, "main return\n", "", *CLASSES, "fixtures/Main", "return"),
            (0, "main thread\nmain false\n", "", *MAIN, "thread"),
            (0, "main daemon\n", "", *MAIN, "daemon"),
            (1, "", 'Exception in thread "main" java.lang.IllegalStateException: main failed\n'
                    "\tat fixtures.UncaughtMain.main(UncaughtMain.java:", *CLASSES, "fixtures.UncaughtMain"),
            (1, "main handler\nmain handled failed\n", "", *MAIN, "handler"),
            (1, "", 'Exception in thread "main" java.lang.ExceptionInInitializerError', *mains("Broken")),
            (0, "initialised\nran\n", "", *mains("Loud")),
            (0, "inherited\n", "", *mains("Inherited")),
            (3, "main exit,3\n", "", *MAIN, "exit", "3"),
            (0, "main exit,0\n", "", *MAIN, "exit", "0"),
            (6, "main exit-in-initializer\n", "", *MAIN, "exit-in-initializer"),
            (7, "main halt\n", "", *MAIN, "halt"),
            (0, "main hook-throws\n", "IllegalStateException: failed", *MAIN, "hook-throws"),
            (0, "main hook-looks\nleft []\n", "", *MAIN, "hook-looks"),
            (1, "", "is not public static void", *mains("NotVoid"))))

    @on_each_jdk
    def test_mains_are_those_of_the_version(self, jvm):
        if jdks.feature_version(Path(jvm[1])) < 25:
            rows = ((1, "", "NotPublic has no public static void main", *mains("NotPublic")),
                    (1, "", "is not public static void", *mains("NotStatic")))
        else:
            rows = [(0, "ran\n", "", *mains(name)) for name in ("NotPublic", "NotStatic")]
        self.check_all(jvm, rows)

    @on_each_jdk
    def test_mains_of_jars_run(self, jvm):
        def make(path, manifest):
            path.parent.mkdir(exist_ok=True)
            with zipfile.ZipFile(path, "w") as jar, zipfile.ZipFile(FIXTURES) as fixtures:
                jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n" + manifest)
                for name in () if "Class-Path" in manifest else ("fixtures/Main.class", "fixtures/Mains$Deep.class"):
                    jar.writestr(name, fixtures.read(name))
            return path
        with TemporaryDirectory(prefix="jpeer-jars-") as folder:
            folder = Path(folder)
            main = "Main-Class: fixtures.Main\n"
            plain = make(folder / "a b é/plain.jar", main)
            self.check_all(jvm, (
                (4, "main exit,4\n", "", "-jar", plain, "exit", "4"),
                (4, "main exit,4\n", "", "-cp", plain, "fixtures.Main", "exit", "4"),
                (4, "main exit,4\n", "", "-jar",
                 make(folder / "chain.jar", main + "Class-Path: a%20b%20%C3%A9/plain.jar\n"), "exit", "4"),
                (0, "opened false\n", "", "-jar", make(folder / "deep.jar", DEEP)),
                (1, "", "InaccessibleObjectException", *mains("Deep")),
                (1, "", "has no Main-Class in its manifest\n", "-jar", make(folder / "none.jar", "")),
                (1, "", "main class fixtures.Missing not found\n", "-jar",
                 make(folder / "missing.jar", "Main-Class: fixtures.Missing\n")),
                (1, "", f"cannot read the jar {folder}: ", "-jar", folder)))

    @on_each_jdk
    def test_a_start_that_fails_names_the_mistake(self, jvm):
        cannot = "the JVM cannot be started: "
        initialising = cannot + "Error occurred during initialization of VM; "
        self.check_all(jvm, (
            (1, "", "main class no.such.Main not found\n", "-cp", "/nowhere", "no.such.Main"),
            (1, "", "class [I has no public static void main", *CLASSES, "[I"),
            (1, "", cannot + "Unrecognized option: -foo\n", "-J", "-foo", *MAIN),
            (1, "", cannot + "Unrecognized VM option 'NoSuchThing'", "-J", "-XX:+NoSuchThing", *MAIN),
            (1, "", cannot + "Invalid maximum heap size: -Xmxhuge", "-J", "-Xmxhuge", *MAIN),
            (1, "", initialising + "Could not reserve", "-J", "-Xmx100000g", *MAIN),
            (1, "", initialising + "Initial heap size set to a larger value than the maximum heap size\n",
             "-J", "-Xms2g", "-J", "-Xmx1g", *MAIN),
            (1, "", "jpeer run: ", "-J", "-Xss100000g", *MAIN),
            (1, None, "Could not find agent library nope", "-J", "-agentlib:nope", *MAIN),
            (1, None, "java.lang.Error: No; Caused by: java.lang.ClassNotFoundException: No\n",
             "-J", "-Djava.system.class.loader=No", *MAIN),
            (0, None, "the JVM or an agent called exit(3) before the JVM was up", "-J", "-Xlog:help", *MAIN),
            (1, "", "the JVM or an agent called exit(3) before the JVM was up", "-J", "-agentlib:jdwp=no=no", *MAIN),
            (1, "", "the JVM option \"exit\" does not begin with '-'\n", "-J", "exit", *MAIN)))
