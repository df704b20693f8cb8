import com.example.Calculator;
import py4j.GatewayServer;

/** Py4J's gateway as its documentation starts one: no token, no time limits, no log. */
public final class Py4jServer {
  private Py4jServer() {}

  public static void main(String[] arguments) throws Exception {
    GatewayServer server = new GatewayServer.GatewayServerBuilder(new Calculator()).javaPort(0).build();
    // Occupies the id 0, which the generator uses for an object that it does not know yet.
    server.getGateway().putNewObject(new Object());
    server.start();
    Serving.until("py4j://127.0.0.1:" + server.getListeningPort(), server);
  }
}
