package client;

/** Checks, each a public method without parameters that has a client of its own. Which peer they need, run.py says. */
abstract class Suite implements AutoCloseable {
  final String address;
  final Client client;

  Suite(String address) {
    this.address = address;
    this.client = new Client(address);
  }

  @Override
  public final void close() {
    client.close();
  }
}
