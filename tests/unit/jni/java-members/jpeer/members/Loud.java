package jpeer.members;

/** Classes that say when they are initialised. */
public final class Loud {
  private Loud() {}

  public static class ByMethod {
    static final int MARK = Initialised.mark("ByMethod");

    public static int value() {
      return MARK;
    }
  }

  public static class ByField {
    public static int value = Initialised.mark("ByField");
  }

  public static class ByPut {
    static final int MARK = Initialised.mark("ByPut");
    public static int value = 5;
  }

  public static class ByNew {
    static final int MARK = Initialised.mark("ByNew");
  }

  public interface Constants {
    int VALUE = Initialised.mark("Constants");

    static int twice() {
      return VALUE * 2;
    }
  }

  public static class ParentOnly {
    static final int MARK = Initialised.mark("Parent");

    public static int inherited() {
      return 7;
    }
  }

  public static class Child extends ParentOnly {
    static final int CHILD = Initialised.mark("Child");
  }

  public enum Shade {
    DARK;
    static final int MARK = Initialised.mark("Shade");
  }

  public static class Never {
    static final int MARK = Initialised.mark("Never");

    public static void takes(Never v) {}
  }

  public static String shade(Shade v) {
    return v.name();
  }

  public static class Fails {
    static final int MARK = fail();

    static int fail() {
      throw new IllegalStateException("no start");
    }

    public static int value() {
      return 1;
    }

    public static int field;
  }

  public static class FailsOnNew {
    static final int MARK = Fails.fail();
  }
}
