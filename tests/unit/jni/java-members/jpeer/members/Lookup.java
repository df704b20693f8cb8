package jpeer.members;

/** Members that are hidden, private, inherited and overridden. */
public final class Lookup {
  private Lookup() {}

  public static class Base {
    public String name = "Base.name";
    private String secret = "Base.secret";
    public static String shared = "Base.shared";

    private String hidden() {
      return "Base.hidden";
    }

    private String both(int v) {
      return "Base.both(int)";
    }

    private static String privateStatic() {
      return "Base.privateStatic";
    }

    public String virtual() {
      return "Base.virtual";
    }

    protected String kept() {
      return "Base.kept " + secret + hidden() + both(1) + privateStatic();
    }

    public static String statics() {
      return "Base.statics";
    }

    public Base self() {
      return this;
    }
  }

  public interface Left {
    String SIDE = "left";

    default String side() {
      return "left";
    }

    static String only() {
      return "Left.only";
    }
  }

  public interface Right {
    default String side() {
      return "right";
    }

    String given();
  }

  public static class Child extends Base implements Left, Right {
    public String name = "Child.name";

    @Override
    public String side() {
      return Left.super.side() + Right.super.side();
    }

    @Override
    public String given() {
      return "given";
    }

    public String both(long v) {
      return "Child.both(long)";
    }

    @Override
    public String virtual() {
      return "Child.virtual";
    }

    @Override
    public Child self() {
      return this;
    }

    public static String statics() {
      return "Child.statics";
    }

    public String asked(String v) {
      return "String";
    }

    public static String asked(int v) {
      return "static int";
    }
  }
}
