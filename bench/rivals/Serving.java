import java.io.IOException;
import java.lang.ref.Reference;

/** How the bench and a server of it come together: one line with the address out, and the end of the input to stop. */
final class Serving {
  private Serving() {}

  /** Keeps what serves alive meanwhile. */
  static void until(String address, Object server) throws IOException {
    System.out.println(address);
    while (System.in.read() >= 0) {
      // Nothing is said there; only its end counts.
    }
    Reference.reachabilityFence(server);
    System.exit(0);
  }
}
