"""jsonrpclib-pelix, a ServerProxy over HTTP: members are attributes."""

from jsonrpclib import MultiCall, ProtocolError, ServerProxy
from jsonrpclib.config import Config
from steps import ADDRESS, CALL, KEY, SERVER_ERROR, done

# The library's default is application/json-rpc.
server = ServerProxy(ADDRESS, config=Config(content_type="application/json"))
done("call", server.call(**CALL)["value"]["value"], "8")

done("member", (server.com.example.Calculator.add(5, 3), server.com.example.Calculator.add(a=5, b=3)), (8, 8))

try:
    answer = server.com.example.Calculator.divide(1, 0)
except ProtocolError as error:
    answer = error.args[0]
done("error", answer, (SERVER_ERROR, "Server error"))

# A single notification is answered with status 204, and this client treats 204 as a failure; in a batch with
# calls it can be sent.
batch = MultiCall(server)
batch.com.example.Calculator.add(1, 2)
batch._notify.java.lang.System.setProperty(KEY, "told")
batch.java.lang.System.getProperty(KEY)
done("batch", list(batch()), [3, "told"])
server("close")()
