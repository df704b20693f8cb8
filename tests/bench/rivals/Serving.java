import java.io.IOException;

/** How the bench and a server of it come together: one line with the address out, and the end of the input to stop. */
final class Serving {
  private Serving() {}

  static void until(String address) throws IOException {
    System.out.println(address);
    while (System.in.read() >= 0) {
      // Nothing is said there; only its end counts.
    }
    System.exit(0);
  }
}
