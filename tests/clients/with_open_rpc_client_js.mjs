// @open-rpc/client-js, over HTTP or WebSocket by the address.
import { ADD, CALL, DIVIDE, GET, KEY, SERVER_ERROR, SET, THROWN, address, done, failure, load } from "./steps.mjs";

const { Client, HTTPTransport, RequestManager, WebSocketTransport } = await load("@open-rpc/client-js");
const Transport = address.startsWith("ws:") ? WebSocketTransport : HTTPTransport;
const client = new Client(new RequestManager([new Transport(address)]));

done("call", (await client.request({ method: "call", params: CALL })).value.value, "8");

done("member", [await client.request({ method: ADD, params: [5, 3] }),
                await client.request({ method: ADD, params: { a: 5, b: 3 } })], [8, 8]);

const error = await failure(client.request({ method: DIVIDE, params: [1, 0] }));
done("error", [error.code, error.message, error.data?.throwable_type], [SERVER_ERROR, "Server error", THROWN]);

await client.notify({ method: SET, params: [KEY, "told"] });
done("notification", await client.request({ method: GET, params: [KEY] }), "told");

client.startBatch();
const answers = [
  client.request({ method: ADD, params: [1, 2] }),
  failure(client.request({ method: DIVIDE, params: [1, 0] })),
  client.request({ method: GET, params: [KEY] }),
];
// A request joins the batch only once the client has found itself connected.
await new Promise((resolve) => setImmediate(resolve));
client.stopBatch();
const [sum, failed, after] = await Promise.all(answers);
done("batch", [sum, failed.code, after], [3, SERVER_ERROR, "told"]);
client.close();
