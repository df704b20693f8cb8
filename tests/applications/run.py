"""Starts a Spring Boot jar by a `java` command, and by the same command with `jpeer run` in place of `java`. Both times
the application has to give the same answer, and the peer has to serve it. Maven builds the jar in build/applications.
If Maven cannot fetch a dependency, the run is skipped, with the reason.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import jdks, maven  # noqa: E402
from support.clients import HttpClient  # noqa: E402
from support.peer import BINARY, environment  # noqa: E402

START_SECONDS = 120
AGENT = """
public class Agent {
  public static void premain(String options) {
    System.setProperty("agent.saw", options);
  }
}
"""


def build_agent(folder):
    (folder / "Agent.java").write_text(AGENT, encoding="utf-8")
    (folder / "agent.mf").write_text("Premain-Class: Agent\n", encoding="ascii")
    tools = jdks.homes()[0] / "bin"
    subprocess.run([tools / "javac", "--release", "17", "-d", folder, folder / "Agent.java"], check=True)
    subprocess.run([tools / "jar", "--create", "--file", folder / "agent.jar", "--manifest", folder / "agent.mf",
                    "-C", folder, "Agent.class"], check=True)
    return folder / "agent.jar"


class Started:
    """The application, started by one command. It answers at `address`."""

    def __init__(self, command, line, folder, variables):
        self.output = folder / "output"
        with open(self.output, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen([*command, *line], env=environment(**variables), stdin=subprocess.DEVNULL,
                                            stdout=file, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_SECONDS
        while "Started Application in" not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"the application did not start: {self.text()}")
            time.sleep(0.05)
        port = re.search(r"Tomcat started on port (\d+)", self.text()).group(1)
        self.address = f"http://127.0.0.1:{port}"

    def text(self):
        return self.output.read_text(encoding="utf-8", errors="replace")

    def ask(self):
        with urllib.request.urlopen(f"{self.address}/started", timeout=60) as answer:
            return answer.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Served:
    """The attributes of a peer that HttpClient uses."""

    def __init__(self, output):
        self.addresses = re.search(r"^jpeer ready: .*$", output, re.M).group(0).split(", ")
        self.clients = []

    def address(self, scheme):
        return next(address for address in self.addresses if address.startswith(scheme + "://"))


def use_bean(client):
    """Uses a bean by the name of its class, and a class that it needs, after main has returned. They are in jars inside
    the jar, which the application's class loader does not open."""
    while client.call("demo.Application", "hasMainReturned") != "true":
        time.sleep(0.01)
    context = client.get("demo.Application", "context")
    greeter = client.call("org.springframework.beans.factory.BeanFactory", "getBean", "greeter", on=context)
    greeting = client.call("demo.Greeter", "greet", "you", on=greeter)
    assert greeting == '{"hello":"you"}', greeting
    mapper = client.new("com.fasterxml.jackson.databind.ObjectMapper")
    written = client.call("com.fasterxml.jackson.databind.ObjectMapper", "writeValueAsString",
                          {"type": "java.util.List", "value": ["a", 1]}, on=mapper)
    assert written == '["a",1]', written
    case = client.get("com.fasterxml.jackson.databind.PropertyNamingStrategies", "SNAKE_CASE")
    name = client.call("com.fasterxml.jackson.databind.PropertyNamingStrategies$NamingBase", "translate", "aName", on=case)
    assert name == "a_name", name


def check(home, jar, agent, folder):
    line = ["-Xmx256m", "-XX:+UseSerialGC", "-Dwho=the line", f"-javaagent:{agent}=seen", "--add-opens",
            "java.base/java.lang=ALL-UNNAMED", "-jar", str(jar), "--server.port=0", "--server.address=127.0.0.1"]
    java = Started([home / "bin/java"], line, folder, {})
    answer_to_java = java.ask()
    java.stop()
    variables = {"JAVA_HOME": str(home), "JPEER_JSON_RPC": "auto", "JPEER_RPC_DEFAULT_ACTION": "ALLOW"}
    peer = Started([BINARY, "run"], line, folder, variables)
    answer = peer.ask()
    with HttpClient(Served(peer.text())) as client:
        property_seen = client.call("java.lang.System", "getProperty", "who")
        use_bean(client)
    status = peer.stop()
    assert answer == answer_to_java, f"{answer!r} is not {answer_to_java!r}"
    assert "who=the line agent=seen arguments=[-Xmx256m," in answer, answer
    assert property_seen == "the line", property_seen
    assert status == 0, f"status {status} at SIGTERM"


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="jpeer-applications-") as scratch:
        folder = Path(scratch)
        try:
            project = maven.build(HERE / "spring-boot", "applications/spring-boot", "-DskipTests", "package")
        except maven.Unavailable as reason:
            print(f"skipped: {reason}\n0 passed, 0 failed")
            return 0
        jar = project / "target/application.jar"
        agent = build_agent(folder)
        for home in jdks.homes():
            try:
                check(home, jar, agent, folder)
                print(f"passed: {os.path.basename(jar)} on {home.name}", flush=True)
                passed += 1
            except AssertionError as wrong:
                print(f"failed: {os.path.basename(jar)} on {home.name}: {wrong}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
