package jpeer.members;

/** Recursion without an end, and an object whose methods misbehave. */
public class Deep {
  public int depth;

  public static int forever(int v) {
    return forever(v + 1) + 1;
  }

  public static Object[] nested() {
    Object[] array = new Object[1];
    array[0] = array;
    return array;
  }

  public static void alwaysThrows() throws Throwable {
    throw new Throwable("bare");
  }

  public static void throwsNull() {
    throw null;
  }

  public static byte[] tooMuch() {
    return new byte[Integer.MAX_VALUE];
  }
}
