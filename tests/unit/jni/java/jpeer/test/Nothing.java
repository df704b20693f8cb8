package jpeer.test;

/** A main that does nothing: the tests run before it. */
public final class Nothing {
  private Nothing() {
  }

  public static void main(String[] args) {
  }
}
