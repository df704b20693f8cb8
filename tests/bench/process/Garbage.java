import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.util.List;

/** Makes garbage and tells what collecting it took, with many objects alive. */
public final class Garbage {
  private static final List<String> YOUNG = List.of("Copy", "G1 Young Generation");
  private static final int PIECE_BYTES = 1 << 10;

  private static Object[] held = new Object[0];
  private static volatile Object last;

  private Garbage() {}

  /** Holds so many of what the sessions of the other case hold, in a plain array. */
  public static void hold(String className, int count) throws ReflectiveOperationException {
    Constructor<?> made = Class.forName(className).getConstructor();
    Object[] objects = new Object[count];
    for (int i = 0; i < count; i++) {
      objects[i] = made.newInstance();
    }
    held = objects;
  }

  /** Milliseconds in young collections while so many MiB of garbage are made; all that is alive is old by then. */
  public static long collect(int megabytes) {
    System.gc();
    long before = youngMillis();
    for (long bytes = (long) megabytes << 20; bytes > 0; bytes -= PIECE_BYTES) {
      last = new byte[PIECE_BYTES];
    }
    return youngMillis() - before;
  }

  private static long youngMillis() {
    long sum = 0;
    for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
      if (YOUNG.contains(bean.getName())) {
        sum += bean.getCollectionTime();
      }
    }
    return sum;
  }
}
