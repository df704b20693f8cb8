"""Command lines that start a program, with `java` replaced by `jpeer run`: options, argument files, variables,
modules, and the errors for mistakes."""

import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import jdks
from support.clients import WebSocketClient, fetch
from support.peer import FIXTURES, START_SECONDS, Peer, environment, jvm_options, run_to_end
from support.peer_case import PeerCase

MAIN = "fixtures.Main"

SOURCES = {
    "agent/Agent.java": """
        public class Agent {
          public static void premain(String options) {
            System.setProperty("agent.saw", options);
          }
        }
        """,
    "modules/m.greet/module-info.java": "module m.greet { exports m.greet; }",
    "modules/m.greet/m/greet/Greeter.java": """
        package m.greet;
        public class Greeter {
          public static String greet(String name) {
            return "hello " + name;
          }
        }
        """,
    "modules/m.app/module-info.java": "module m.app { requires m.greet; }",
    "modules/m.app/m/app/Main.java": """
        package m.app;
        public class Main {
          public static void main(String[] args) {
            System.out.println(m.greet.Greeter.greet(String.join(",", args)) + " in " + Main.class.getModule()
                + " of " + System.getProperty("jdk.module.main.class")
                + ", class path <" + System.getProperty("java.class.path") + ">");
          }
        }
        """,
    "classes/demo/Show.java": """
        package demo;
        public class Show {
          public static void main(String[] args) {
            boolean asserting = false;
            assert asserting = true;
            System.out.println(String.join("|", args) + " k=" + System.getProperty("k") + " agent="
                + System.getProperty("agent.saw") + " assertions=" + asserting + " heap="
                + Runtime.getRuntime().maxMemory() + " " + System.getProperty("java.class.path"));
          }
        }
        """,
}


class Java:
    """Classes that the tests compile once, and the same line run by java and by jpeer."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="jpeer-java-line-")
        self.folder = Path(self.scratch.name)
        for name, text in SOURCES.items():
            path = self.folder / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        source = self.folder / "src"
        self.tool("javac", "--release", "17", "-d", self.folder / "agent", source / "agent/Agent.java")
        (self.folder / "agent.mf").write_text("Premain-Class: Agent\n", encoding="ascii")
        self.tool("jar", "--create", "--file", self.folder / "agent.jar", "--manifest", self.folder / "agent.mf",
                  "-C", self.folder / "agent", ".")
        self.tool("javac", "--release", "17", "-d", self.folder / "classes", source / "classes/demo/Show.java")
        self.tool("javac", "--release", "17", "-d", self.folder / "mods", "--module-source-path", source / "modules",
                  *sorted((source / "modules").rglob("*.java")))
        (self.folder / "lib").mkdir()
        self.tool("jar", "--create", "--file", self.folder / "lib/app.jar", "--main-class", "m.app.Main",
                  "-C", self.folder / "mods/m.app", ".")
        self.tool("jar", "--create", "--file", self.folder / "lib/greet.jar", "-C", self.folder / "mods/m.greet", ".")

    @staticmethod
    def tool(name, *words, home=None):
        subprocess.run([(home or jdks.homes()[0]) / "bin" / name, *map(str, words)], check=True, timeout=4 * START_SECONDS)

    def both(self, *words, variables=None, homes=None):
        """Runs java and jpeer with all JDKs at once. Yields for each JDK: the JDK, and the output and status of
        both."""
        homes = homes or jdks.homes()
        with ThreadPoolExecutor(2 * len(homes)) as pool:
            runs = [(home, [pool.submit(run, home, *words, variables=variables) for run in (self.java, self.peer)])
                    for home in homes]
            return [(home, *((self.output(one.result()), one.result().returncode) for one in pair)) for home, pair in runs]

    @staticmethod
    def output(run):
        """Without the JVM's warning that another JVM of its number, in another namespace, has a file in /tmp/hsperfdata_USER."""
        return "".join(line for line in run.stdout.splitlines(keepends=True) if "[warning][perf,memops]" not in line)

    def java(self, home, *words, variables=None):
        return subprocess.run([home / "bin/java", *map(str, words)], env=environment(**(variables or {})), check=False,
                              capture_output=True, text=True, cwd=self.folder, timeout=60)

    def peer(self, home, *words, variables=None):
        return run_to_end("run", "--jvm", str(home), *jvm_options(), *map(str, words),
                          env=environment(**(variables or {})), cwd=self.folder)


class Lines(PeerCase):
    @classmethod
    def setUpClass(cls):
        cls.java = Java()

    @classmethod
    def tearDownClass(cls):
        cls.java.scratch.cleanup()

    def check(self, *words, variables=None, status=0):
        """Checks that java and the peer give the same output on every JDK, and returns the output."""
        for home, java, peer in self.java.both(*words, variables=variables):
            with self.subTest(home=home.name, words=words):
                self.assertEqual(java, peer)
                self.assertEqual(peer[1], status, peer)
        return peer[0]

    def write(self, name, text):
        path = self.java.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_options_without_j(self):
        printed = self.check("-Xmx64m", "-XX:+UseSerialGC", "-Dk=two words", "-ea", "--add-opens",
                             "java.base/java.lang=ALL-UNNAMED", "--add-modules=java.sql", "-cp", "classes", "demo.Show",
                             "-Xmx1g", "@x", "--json-rpc")
        self.assertIn("-Xmx1g|@x|--json-rpc k=two words", printed)
        self.assertIn("assertions=true", printed)

    def test_an_agent_is_loaded_as_by_java(self):
        self.assertIn("agent=a=b,c", self.check("-javaagent:agent.jar=a=b,c", "-cp", "classes", "demo.Show"))

    def test_the_last_class_path_counts(self):
        self.check("-cp", "nowhere", "-classpath", "classes", "demo.Show")
        self.check("-Djava.class.path=classes", "demo.Show")
        self.check("-cp", "nowhere:classes", "demo/Show")

    def test_variables_count_as_for_java(self):
        self.check("demo.Show", variables={"CLASSPATH": "classes"})
        self.check("-cp", "classes", "demo.Show", variables={"CLASSPATH": "nowhere"})
        printed = self.check("-Dk=2", "demo.Show", "x", variables={"JDK_JAVA_OPTIONS": "-cp classes -Dk=1 '-Dl=a b'"})
        self.assertIn("x k=2", printed)
        done = self.java.peer(jdks.homes()[0], "demo.Show", variables={"JDK_JAVA_OPTIONS": "-cp classes -Dk=1"})
        self.assertTrue(done.stderr.startswith("NOTE: Picked up JDK_JAVA_OPTIONS: -cp classes -Dk=1\n"), done.stderr)
        self.assertIn("k=tool", self.check("-cp", "classes", "demo.Show", variables={"JAVA_TOOL_OPTIONS": "-Dk=tool"}))

    def test_argument_files(self):
        self.write("line", '# a comment\n-cp classes -Dk="a\\tb" \'-Dz=x y\'\n'
                           'demo.Show "one\\\n   two" \'three four\' ""\n')
        printed = self.check("-Xmx64m", "@line", "five", "@line")
        self.assertIn("onetwo|three four||five|@line", printed)
        self.write("options", "-cp classes\n")
        self.check("demo.Show", variables={"JDK_JAVA_OPTIONS": "@options"})
        done = self.java.peer(jdks.homes()[0], "@no-such-file", MAIN)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr,
                         "jpeer run: the argument file no-such-file cannot be opened: No such file or directory\n")

    def test_modules_run_as_with_java(self):
        for words in (("-p", "mods", "-m", "m.app/m.app.Main"), ("--module-path=lib", "--module", "m.app"),
                      ("-p", "lib", "-cp", "classes", "--module=m.app")):
            self.assertIn("hello x,y in module m.app of m.app.Main", self.check(*words, "x", "y"))
        self.check("-p", "lib", "--add-modules", "m.greet", "-cp", "classes", "demo.Show")
        for words, text in ((("-p", "mods", "-m", "m.app"), "names no main class"),
                            (("-p", "lib", "-m", "m.app/m.Nope"), "main class m.Nope not found in module m.app"),
                            (("-p", "lib", "-m", "m.nope"), "Module m.nope not found")):
            done = self.java.peer(jdks.homes()[0], *words)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr + done.stdout)

    def test_a_module_is_served(self):
        folder = self.java.folder
        client = self.serve("-p", folder / "lib", "--add-modules", "m.app", class_path=None)
        self.assertEqual(client.call("m.greet.Greeter", "greet", "client"), "hello client")
        described, = fetch(client, "m.greet.Greeter")
        self.assertEqual(described["className"], "m.greet.Greeter")

    def test_options_that_only_print_start_no_application(self):
        self.check("-p", "lib", "--list-modules")
        self.check("-X")
        self.check("-p", "lib", "--dry-run", "-m", "m.app")
        self.check("-p", "lib", "--validate-modules")
        for home in jdks.homes():
            version = jdks.full_version(home).split(" ")[0]
            for option, stream in (("-version", "stderr"), ("--version", "stdout")):
                done = self.java.peer(home, option)
                self.assertEqual(done.returncode, 0)
                text = getattr(done, stream)
                self.assertTrue(text.startswith("jpeer "), text)
                self.assertIn(version, text)
            done = self.java.peer(home, "-showversion", "-cp", "classes", "demo.Show")
            self.assertIn(version, done.stderr)
            self.assertIn("classes", done.stdout)

    def test_the_version_without_a_jvm(self):
        done = run_to_end("run", "--jvm", "/nonexistent", "--version")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("jpeer "), done.stdout)
        self.assertIn("no JVM found", done.stderr)

    def test_mains_of_java_25(self):
        mains = {
            "Plain": "void main() { System.out.println(getClass()); }",
            "Static": 'static void main() { System.out.println("Static"); }',
            "WithArguments": 'void main(String[] args) { System.out.println(String.join("|", args)); } void main() {}',
            "Inherits extends Plain": "",
            "Throws": 'void main() { throw new IllegalStateException("from main"); }',
        }
        refused = {
            "Private": ("private void main() {}", "no public static void main"),
            "NoConstructor": ("NoConstructor(int x) {} void main() {}", "no constructor without arguments"),
        }
        homes = [home for home in jdks.homes() if int(re.match(r"\d+", jdks.full_version(home)).group()) >= 25]
        if not homes:
            self.skipTest("no JDK 25")
        text = "".join(f"class {name} {{ {body} }}\n" for name, body in mains.items())
        text += "".join(f"class {name} {{ {body} }}\n" for name, (body, _) in refused.items())
        self.java.tool("javac", "-d", self.java.folder / "free", self.write("Free.java", text), home=homes[0])
        for name in (name.split()[0] for name in mains):
            (_, java, peer), = self.java.both("-cp", "free", name, "a", "b", homes=homes[:1])
            self.assertEqual(java, peer)
        for name, (_, text) in refused.items():
            done = self.java.peer(homes[0], "-cp", "free", name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
        for wanted, meant in (("Plian", "Plain"), ("Statik", "Static"), ("WithArgument", "WithArguments")):
            done = self.java.peer(homes[0], "-cp", "free", wanted)
            self.assertIn(f"main class {wanted} not found: did you mean {meant}?", done.stderr)

    def test_refused_values(self):
        for words, text in ((("--source", "21", "X.java"), "programs in source files are not run"),
                            (("src/classes/demo/Show.java",), "programs in source files are not run"),
                            (("-XshowSettings", MAIN), "-XshowSettings"),
                            (("--json-rcp", "auto", MAIN), "did you mean --json-rpc?")):
            done = self.java.peer(jdks.homes()[0], *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class InputArguments(PeerCase):
    def test_java_sees_its_own_arguments_only(self):
        bean = "java.lang.management.RuntimeMXBean"
        for home in jdks.homes():
            with self.subTest(home=home.name):
                with Peer("--jvm", home, "-Xmx64m", "-J", "-Da=b", "-ea",
                          env=environment(JAVA_TOOL_OPTIONS="-Dc=d")) as peer:
                    with WebSocketClient(peer) as client:
                        on = client.call("java.lang.management.ManagementFactory", "getRuntimeMXBean")
                        arguments = client.call(bean, "getInputArguments", on=on)
                        shown = client.call("java.lang.Object", "toString", on=arguments)
                        wanted = ["-Dc=d", *jvm_options()[1::2], "-Xmx64m", "-Da=b", "-ea"]
                        self.assertEqual(shown, f"[{', '.join(wanted)}]")


class Notices(PeerCase):
    def lines(self, *words, variables=None):
        done = run_to_end("run", "--log-level", "warn", "--json-rpc", "auto", *words,
                          env=environment(**(variables or {})))
        return done, [line.split("  ", 1)[-1] if "Z warn" in line else line for line in done.stderr.splitlines()]

    def test_unknown_variables(self):
        _, lines = self.lines("-cp", FIXTURES, MAIN, "exit", "0",
                              variables={"JPEER_JSON_RCP": "auto", "JPEER_OF_ANOTHER_KIND": "1", "JPEER_NAME": "x"})
        text = "\n".join(lines)
        self.assertIn("JPEER_JSON_RCP is set, and no option has this variable: did you mean JPEER_JSON_RPC?", text)
        self.assertIn("JPEER_OF_ANOTHER_KIND is set, and no option has this variable\n", text + "\n")
        self.assertNotIn("JPEER_NAME", text)

    def test_entries_that_are_not_there(self):
        done, lines = self.lines("-p", "/nowhere/mods", "-cp", f"/nowhere/a.jar:{FIXTURES}:/nowhere/*", MAIN, "exit",
                                 "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = [line for line in lines if "nowhere" in line]
        self.assertEqual(len(shown), 3, shown)
        self.assertIn("the class path names /nowhere/a.jar, which does not exist", shown[0])
        self.assertIn("the class path names /nowhere/*, which does not exist", shown[1])
        self.assertIn("the module path names /nowhere/mods, which does not exist", shown[2])

    def test_a_main_class_that_is_nearly_there(self):
        uncaught = "fixtures.UncaughtMain"
        for wanted, meant in (("fixtures.Mian", MAIN), ("com.example.UncaughtMain", uncaught),
                              ("uncaughtmain", uncaught), ("fixtures/UncaughtMain.class", uncaught),
                              ("fixtures.UncaughtMain.java", uncaught), ("UncoughtMain", uncaught)):
            with self.subTest(wanted=wanted):
                done, lines = self.lines("-cp", FIXTURES, wanted)
                self.assertEqual(done.returncode, 1)
                name = wanted.replace("/", ".")
                self.assertEqual(lines, [f"jpeer run: main class {name} not found: did you mean {meant}?"])
        done, lines = self.lines("-cp", FIXTURES, "org.other.Thing")
        self.assertEqual(lines, ["jpeer run: main class org.other.Thing not found"])
