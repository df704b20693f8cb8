package jpeer.test;

/** Throwables that do their worst when they are described, and what throws them. */
@SuppressWarnings("serial")
public final class Hostile {
  private Hostile() {
  }

  public static final class ThrowsInGetMessage extends RuntimeException {
    @Override
    public String getMessage() {
      throw new IllegalStateException("no message for you");
    }
  }

  public static final class RecursesInGetMessage extends RuntimeException {
    @Override
    public String getMessage() {
      return getMessage() + "!";
    }
  }

  public static final class ExhaustsInGetMessage extends RuntimeException {
    @Override
    public String getMessage() {
      return String.valueOf(new long[Integer.MAX_VALUE].length);
    }
  }

  public static final class LongMessage extends RuntimeException {
    LongMessage() {
      super("x".repeat(1_000_000));
    }
  }

  public static final class NoTrace extends RuntimeException {
    NoTrace() {
      super("no trace");
    }

    @Override
    public StackTraceElement[] getStackTrace() {
      return null;
    }
  }

  public static final class NullFrames extends RuntimeException {
    NullFrames() {
      super("null frames");
    }

    @Override
    public StackTraceElement[] getStackTrace() {
      return new StackTraceElement[3];
    }
  }

  public static final class ThrowsInGetStackTrace extends RuntimeException {
    ThrowsInGetStackTrace() {
      super("throwing trace");
    }

    @Override
    public StackTraceElement[] getStackTrace() {
      throw new StackOverflowError();
    }
  }

  public static final class OwnCause extends RuntimeException {
    @Override
    public synchronized Throwable getCause() {
      return this;
    }
  }

  public static final class EndlessCauses extends RuntimeException {
    @Override
    public synchronized Throwable getCause() {
      return new EndlessCauses();
    }
  }

  public static final class ThrowsInGetCause extends RuntimeException {
    @Override
    public synchronized Throwable getCause() {
      throw new ThrowsInGetCause();
    }
  }

  public static final class ThrowsInToString extends RuntimeException {
    @Override
    public String toString() {
      throw new Error("no text for you");
    }
  }

  public static void plain() {
    throw new IllegalArgumentException("plain \u0000 \ud83d\ude00 \ud800 text", new RuntimeException("cause"));
  }

  public static void looping() {
    RuntimeException first = new RuntimeException("first");
    RuntimeException second = new RuntimeException("second", first);
    first.initCause(second);
    throw first;
  }

  public static void overflow() {
    overflow();
  }

  public static void exhaust() {
    throw new OutOfMemoryError("planted " + new long[1].length);
  }

  public static void exhaustReally() {
    java.util.ArrayList<long[]> kept = new java.util.ArrayList<>();
    for (;;) {
      kept.add(new long[1 << 20]);
    }
  }

  public static void throwNew(String name) throws Throwable {
    java.lang.reflect.Constructor<?> constructor =
        Class.forName("jpeer.test.Hostile$" + name).getDeclaredConstructor();
    constructor.setAccessible(true);
    throw (Throwable) constructor.newInstance();
  }
}
