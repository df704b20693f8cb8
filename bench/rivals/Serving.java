import java.io.IOException;
import java.lang.ref.Reference;

/** The protocol between the bench and its servers: a server prints one line with its address, and stops at the end of
 * its input. */
final class Serving {
  private Serving() {}

  /** Keeps the server's object from being collected. */
  static void until(String address, Object server) throws IOException {
    System.out.println(address);
    while (System.in.read() >= 0) {
      // Nothing is sent to this input; only its end counts.
    }
    Reference.reachabilityFence(server);
    System.exit(0);
  }
}
