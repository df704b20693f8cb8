import py4j.GatewayServer;

/** Py4J's gateway for a program that reads tables. Prints its port, and ends with its input. */
public final class TableGateway {
  private TableGateway() {
  }

  public static void main(String[] words) throws Exception {
    GatewayServer server = new GatewayServer.GatewayServerBuilder().javaPort(0).build();
    server.start();
    System.out.println(server.getListeningPort());
    while (System.in.read() >= 0) {
      continue;
    }
    server.shutdown();
  }
}
