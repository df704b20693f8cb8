// rpc-websockets: one WebSocket. It has no batches.
import { ADD, CALL, DIVIDE, GET, KEY, SERVER_ERROR, SET, THROWN, address, done, failure, load } from "./steps.mjs";

const { Client } = await load("rpc-websockets");
const client = new Client(address, { reconnect: false });
await new Promise((resolve, reject) => client.once("open", resolve).once("error", reject));

done("call", (await client.call("call", CALL)).value.value, "8");

done("member", await Promise.all([client.call(ADD, [5, 3]), client.call(ADD, { a: 1, b: 2 })]), [8, 3]);

const error = await failure(client.call(DIVIDE, [1, 0]));
done("error", [error.code, error.message, error.data?.throwable_type], [SERVER_ERROR, "Server error", THROWN]);

await client.notify(SET, [KEY, "told"]);
done("notification", await client.call(GET, [KEY]), "told");
client.close();
