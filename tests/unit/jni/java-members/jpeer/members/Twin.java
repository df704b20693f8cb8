package jpeer.members;

/** Loaded by several loaders at once. */
public class Twin {
  public static int made;
  public final int number;

  public Twin() {
    number = ++made;
  }

  public String hello() {
    return "hello " + number;
  }

  public boolean sameAs(Twin other) {
    return this == other;
  }

  public Twin another() {
    return new Twin();
  }
}
