// What the programs in JavaScript ask of a peer, and how they say that it came out right.
//
// A program is given the peer's address and the folder that npm has put the packages into; it prints the name of each
// step that came out right, and ends at the first that did not.
import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [program, given, modules] = process.argv.slice(1);
export const address = given;
export const CALL = { type: "com.example.Calculator", method: "add", args: [5, 3] };
export const ADD = "com.example.Calculator.add";
export const DIVIDE = "com.example.Calculator.divide";
export const SET = "java.lang.System.setProperty";
export const GET = "java.lang.System.getProperty";
// Of a system property, so that a notification leaves something to be seen.
export const KEY = basename(program, ".mjs");
export const SERVER_ERROR = -32000;
export const THROWN = "java.lang.ArithmeticException";

// One line, as Python ends with, where Node would print source and stack and its version.
process.on("uncaughtException", (error) => {
  console.error(`${error.name}: ${error.message}`);
  process.exit(1);
});

export function done(step, got, expected) {
  try {
    deepStrictEqual(got, expected);
  } catch {
    console.error(`${step}: ${JSON.stringify(got)} is not ${JSON.stringify(expected)}`);
    process.exit(1);
  }
  console.log(step);
}

// What the promise is rejected with.
export async function failure(promise) {
  try {
    return { message: `no error, but ${JSON.stringify(await promise)}` };
  } catch (error) {
    return error;
  }
}

// An import from that folder: Node looks for a bare name only near the program, and the packages are outside the tree.
export async function load(name) {
  const folder = join(modules, name);
  const { main = "index.js" } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return import(pathToFileURL(join(folder, main)));
}
