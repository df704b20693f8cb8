package jpeer.members;

import java.util.function.IntSupplier;

/** Fields that JNI would write and Java would not. */
public class Finals {
  public static final Object STATIC = new Object();
  public static int plain = 1;
  private final int instance;

  public Finals() {
    instance = 1;
  }

  public int read() {
    return instance;
  }

  public record Pair(int left, int right) {}

  /** An object of a hidden class that keeps a final field. */
  public static IntSupplier hidden(int kept) {
    return () -> kept;
  }

  public static String fieldOf(Object object) {
    return object.getClass().getDeclaredFields()[0].getName();
  }
}
