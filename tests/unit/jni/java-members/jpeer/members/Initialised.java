package jpeer.members;

/** Tells which of the classes below were initialised, without initialising them. */
public final class Initialised {
  private static final StringBuffer SEEN = new StringBuffer();

  private Initialised() {}

  static int mark(String name) {
    SEEN.append(name).append(' ');
    return 1;
  }

  public static String seen() {
    return SEEN.toString().trim();
  }
}
