package jpeer.test;

/** Mains that are none, or that are odd. */
public class Mains {
  protected Mains() {
  }

  public static final class None {
    private None() {
    }
  }

  public static final class NotStatic {
    public void main(String[] args) {
      Ends.say("ran");
    }
  }

  public static final class NotPublic {
    private NotPublic() {
    }

    static void main(String[] args) {
      Ends.say("ran");
    }
  }

  public static final class NotVoid {
    private NotVoid() {
    }

    public static int main(String[] args) {
      Ends.say("ran");
      return 0;
    }
  }

  public static final class Inherited extends Base {
  }

  static class Base {
    public static void main(String[] args) {
      Ends.say("inherited");
    }
  }

  /** Says when it is initialised. */
  public static final class Loud {
    static {
      Ends.say("initialised");
    }

    private Loud() {
    }

    public static void main(String[] args) {
      Ends.say("ran");
    }
  }

  /** Cannot be initialised. */
  public static final class Broken {
    static {
      if (true) {
        throw new IllegalStateException("broken initialiser");
      }
    }

    private Broken() {
    }

    public static void main(String[] args) {
      Ends.say("ran");
    }
  }

  /** Looks where it may not without Add-Opens, and uses what it may not without Add-Exports. */
  public static final class Deep {
    private Deep() {
    }

    public static void main(String[] args) throws Exception {
      String.class.getDeclaredField("value").setAccessible(true);
      Object held = Class.forName("sun.security.util.Debug").getMethod("isOn", String.class).invoke(null, "x");
      Ends.say("opened " + held);
      System.exit(0);
    }
  }

  /** Shows its arguments as code points. */
  public static final class Arguments {
    private Arguments() {
    }

    public static void main(String[] args) {
      for (String arg : args) {
        StringBuilder points = new StringBuilder("argument");
        arg.codePoints().forEach(c -> points.append(' ').append(Integer.toHexString(c)));
        Ends.say(points.toString());
      }
    }
  }
}
