import java.lang.reflect.Constructor;

/** Holds objects, and makes garbage. */
public final class Garbage {
  private static final int PIECE_BYTES = 1 << 10;

  private static Object[] held = new Object[0];
  private static volatile Object last;

  private Garbage() {}

  /** Holds objects in a plain array: the floor for a session that holds as many of the same class. */
  public static void hold(String className, int count) throws ReflectiveOperationException {
    Constructor<?> made = Class.forName(className).getConstructor();
    Object[] objects = new Object[count];
    for (int i = 0; i < count; i++) {
      objects[i] = made.newInstance();
    }
    held = objects;
  }

  /** Moves all live objects to the old generation, and then makes the given number of MiB of garbage. */
  public static void make(int megabytes) {
    System.gc();
    for (long bytes = (long) megabytes << 20; bytes > 0; bytes -= PIECE_BYTES) {
      last = new byte[PIECE_BYTES];
    }
  }
}
