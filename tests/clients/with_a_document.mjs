// A client of commons-lang3 made from nothing but its OpenRPC document: the peer is asked for the document, and every
// method in it becomes a function of an object, in folders by the dots of its name. @open-rpc/client-js sends.
import { address, done, failure, load } from "./steps.mjs";

const { Client, RequestManager, WebSocketTransport } = await load("@open-rpc/client-js");
const client = new Client(new RequestManager([new WebSocketTransport(address)]));

function functionOf({ name, params }) {
  return (...given) => {
    const named = Object.fromEntries(given.map((value, index) => [params[index].name, value]));
    return client.request({ method: name, params: named });
  };
}

function clientOf(document) {
  const root = {};
  for (const method of document.methods) {
    // An overload's suffix has dots of its own.
    const [path, ...suffix] = method.name.split("-");
    const words = path.split(".");
    const last = [words.pop(), ...suffix].join("-");
    const folder = words.reduce((inner, word) => (inner[word] ??= {}), root);
    folder[last] = functionOf(method);
  }
  return root;
}

const names = ["StringUtils", "ArrayUtils", "Validate", "tuple.MutablePair"];
const classes = names.map((name) => `org.apache.commons.lang3.${name}`);
const document = await client.request({ method: "rpc.discover", params: { classes, openrpc: true } });
done("document", document.openrpc, "1.3.2");
const { StringUtils, ArrayUtils, Validate, tuple } = clientOf(document).org.apache.commons.lang3;

done("call",
     [await StringUtils.capitalize("hello"), await StringUtils["leftPad-java.lang.String-int-char"]("7", 3, "0"),
      await StringUtils.isBlank(null), await ArrayUtils["toObject-int.array"]([1, 2])],
     ["Hello", "007", true, [1, 2]]);

const pair = await tuple.MutablePair["new-java.lang.Object-java.lang.Object"]("left", 2);
await tuple.MutablePair.setRight(pair, [1, { a: 2 }]);
done("object", [await tuple.MutablePair.getLeft(pair), await tuple.MutablePair.getRight(pair)],
     ["left", [1, { a: 2 }]]);

const error = await failure(Validate["isTrue-boolean"](false));
done("error", [error.code, error.data?.throwable_type], [-32000, "java.lang.IllegalArgumentException"]);
client.close();
