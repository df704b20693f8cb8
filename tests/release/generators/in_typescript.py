"""A client that @open-rpc/generator generates. It is compiled together with calls of it, and run."""

import json
import os
import shutil
import subprocess
from urllib.parse import urlsplit

from calls import run_tool

GENERATOR = "@open-rpc/generator@1.22.3"
# The packages of the generated package.json, except TypeScript: version 4.2.4 there cannot read the current types of
# Node.
PACKAGES = ("@open-rpc/client-js@1.7.1", "@open-rpc/meta-schema@1.14.2", "@open-rpc/schema-utils-js@1.15.0",
            "@types/json-schema@7.0.3", "@types/lodash@4.14.149", "@types/ws@6.0.1", "lodash@4.17.21",
            "@types/node@20.19.0", "typescript@5.9.3")
PROGRAM = """import { deepStrictEqual } from "node:assert";
import Jpeer from "./index";

const absent = undefined;
const client = new Jpeer({ transport: { type: "websocket", host: "%(host)s", port: %(port)d, path: "%(path)s" } });
let passed = 0;
let failed = 0;

async function check(name: string, call: () => Promise<unknown>, expected: (got: unknown) => void) {
  try {
    expected(await call());
    passed++;
  } catch (error) {
    failed++;
    console.log(`failed: ${name}: ${error instanceof Error ? error.message : JSON.stringify(error)}`);
  }
}

async function thrown(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return (error as { data?: { throwable_type?: string } }).data?.throwable_type ?? error;
  }
}

async function main() {
%(calls)s
  console.log(JSON.stringify({ passed, failed }));
  process.exit(0);
}

main();
"""


def literal(value):
    """The value as a literal of TypeScript. A kept object becomes the name of its variable."""
    if isinstance(value, dict) and "$" in value:
        return value["$"]
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value)


def statement(call):
    name = json.dumps(call.method)
    text = f"client.{call.method}({', '.join(map(literal, call.arguments))})"
    if call.kept_as is not None:
        return (f"  const {call.kept_as} = (await {text})!;\n"
                f"  await check({name}, async () => typeof {call.kept_as}.ref, (got) => deepStrictEqual(got, \"number\"));")
    expected = call.result
    if isinstance(expected, str) and expected.startswith("!"):
        return (f"  await check({name}, () => thrown(() => {text}), "
                f"(got) => deepStrictEqual(got, {json.dumps(expected[1:])}));")
    return f"  await check({name}, () => {text}, (got) => deepStrictEqual(got, {json.dumps(expected)}));"


def give_names_to_validator(client):
    """If a method has params by name, generated clients send them so, but their validator checks them by position and
    refuses every call."""
    source = client.read_text(encoding="utf-8")
    by_name = "_.zipObject(_.map(methodObject.params, \"name\"), params)"
    changed = source.replace("this.validator.validate(methodName, params)",
                          "this.validator.validate(methodName, (methodObject.paramStructure === \"by-name\" ? "
                          f"{by_name} : params) as any)")
    assert changed != source
    client.write_text(changed, encoding="utf-8")


def install(folder, packages):
    """The folder with node_modules. Raises CalledProcessError if npm cannot reach its registry."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "package.json"
    wanted = {"private": True, "dependencies": dict(package.rsplit("@", 1) for package in packages)}
    modules = folder / "node_modules"
    if not (modules.exists() and manifest.exists() and json.loads(manifest.read_text()) == wanted):
        shutil.rmtree(modules, ignore_errors=True)
        manifest.write_text(json.dumps(wanted))
        try:
            subprocess.run(["npm", "install", "--loglevel=error", "--no-audit", "--no-fund"], cwd=folder, check=True,
                           capture_output=True, text=True, timeout=300)
        except BaseException:
            shutil.rmtree(modules, ignore_errors=True)
            raise
    return modules


def fetch(cache):
    return install(cache / "generator", (GENERATOR,)), install(cache / "client", PACKAGES)


def build(modules, document, folder):
    """Generates the client, and returns its folder."""
    generator, packages = modules
    said = run_tool([generator / ".bin/open-rpc-generator", "generate", "-t", "client", "-l", "typescript", "-n",
                     "generated", "-d", document, "-o", folder], folder)
    client = folder / "client/typescript"
    assert "Done!" in said and (client / "src/index.ts").exists(), said[-2000:]
    give_names_to_validator(client / "src/index.ts")
    os.symlink(packages, client / "node_modules")
    return client


def check(modules, document, calls, address, folder):
    """Runs the calls. Returns the numbers of passed and failed calls."""
    client = build(modules, document, folder)
    parts = urlsplit(address)
    (client / "src/calls.ts").write_text(PROGRAM % {"host": parts.hostname, "port": parts.port, "path": parts.path,
                                                    "calls": "\n".join(map(statement, calls))}, encoding="utf-8")
    # The client's own tsconfig.json is strict, too.
    run_tool([client / "node_modules/.bin/tsc", "--strict", "--project", client], client)
    *complaints, counts = run_tool(["node", "build/calls.js"], client).splitlines()
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return json.loads(counts)
