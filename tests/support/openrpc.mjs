// Checks OpenRPC documents with OpenRPC's own tools: openrpc.mjs FOLDER DOCUMENT...
// FOLDER has them in its node_modules. Prints one line a document; the exit status is 1 where one is wrong.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, ...paths] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const Ajv = createRequire(require.resolve("@open-rpc/schema-utils-js"))("ajv");
const { validateOpenRPCDocument, parseOpenRPCDocument } = require("@open-rpc/schema-utils-js");

function checkExamples(document) {
  const ajv = new Ajv();
  const check = (schema, value, where) => {
    if (!ajv.validate(schema, value)) throw new Error(`${where}: ${JSON.stringify(value)}: ${ajv.errorsText()}`);
  };
  for (const method of document.methods) {
    for (const example of method.examples ?? []) {
      const where = `${method.name}, ${example.name}`;
      check(method.result.schema, example.result.value, where);
      for (const given of example.params) {
        check(method.params.find((param) => param.name === given.name).schema, given.value, where);
      }
    }
  }
}

// Every reference resolved and every example against its schema is what a generator of clients needs.
let wrong = 0;
for (const path of paths) {
  const document = JSON.parse(readFileSync(path, "utf8"));
  const verdict = validateOpenRPCDocument(document);
  try {
    if (verdict !== true) throw verdict;
    const parsed = await parseOpenRPCDocument(document);
    checkExamples(parsed);
    console.log(`${path}: valid, ${parsed.methods.length} methods`);
  } catch (error) {
    wrong = 1;
    console.log(`${path}: ${error.message ?? error}`);
  }
}
process.exitCode = wrong;
