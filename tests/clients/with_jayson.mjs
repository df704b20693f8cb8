// jayson over HTTP.
import { ADD, CALL, DIVIDE, GET, KEY, SERVER_ERROR, SET, THROWN, address, done, load } from "./steps.mjs";

const { default: jayson } = await load("jayson");
const client = jayson.Client.http(address);
const promised = (send) =>
  new Promise((resolve, reject) => send((error, answer) => (error ? reject(error) : resolve(answer))));
const request = (method, params, id) => promised((then) => client.request(method, params, id, then));
const send = (batch) => promised((then) => client.request(batch, then));

done("call", (await request("call", CALL)).result.value.value, "8");

done("member", [(await request(ADD, [5, 3])).result, (await request(ADD, { a: 5, b: 3 })).result], [8, 8]);

const { error } = await request(DIVIDE, [1, 0]);
done("error", [error.code, error.data.throwable_type], [SERVER_ERROR, THROWN]);

await request(SET, [KEY, "told"], null);
done("notification", (await request(GET, [KEY])).result, "told");

const answers = await send([
  client.request(ADD, [1, 2]),
  client.request(SET, [KEY, "told again"], null),
  client.request(DIVIDE, [1, 0]),
  client.request(GET, [KEY]),
]);
done("batch", answers.map((answer) => answer.result ?? answer.error.code), [3, SERVER_ERROR, "told again"]);
