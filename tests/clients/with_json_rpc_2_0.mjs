// json-rpc-2.0 makes the messages and matches the answers; fetch sends them.
import { ADD, CALL, DIVIDE, GET, KEY, SERVER_ERROR, SET, THROWN, address, done, failure, load } from "./steps.mjs";

const { JSONRPCClient, createJSONRPCNotification, createJSONRPCRequest } = (await load("json-rpc-2.0")).default;
let sent;
const client = new JSONRPCClient((message) => (sent = post(message)));

async function post(message) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(message) });
  if (response.status === 200) client.receive(await response.json());
  else if (response.status !== 204) throw new Error(`HTTP status ${response.status}`);
}

done("call", (await client.request("call", CALL)).value.value, "8");

done("member", [await client.request(ADD, [5, 3]), await client.request(ADD, { a: 5, b: 3 })], [8, 8]);

const error = await failure(client.request(DIVIDE, [1, 0]));
done("error", [error.code, error.message, error.data?.throwable_type], [SERVER_ERROR, "Server error", THROWN]);

client.notify(SET, [KEY, "told"]);
await sent;
done("notification", await client.request(GET, [KEY]), "told");

const answers = await client.requestAdvanced([
  createJSONRPCRequest("a", ADD, [1, 2]),
  createJSONRPCNotification(SET, [KEY, "told again"]),
  createJSONRPCRequest("b", DIVIDE, [1, 0]),
  createJSONRPCRequest("c", GET, [KEY]),
]);
done("batch", answers.map((answer) => [answer.id, answer.result ?? answer.error.code]),
     [["a", 3], ["b", SERVER_ERROR], ["c", "told again"]]);
