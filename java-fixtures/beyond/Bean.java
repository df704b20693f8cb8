package beyond;

import beyond.dep.Helper;

/** A class that the application's class loader does not find: it is in a jar inside the jar. */
public class Bean {
  /** Its keys are of a class that no other loader finds. */
  public static class Palette extends java.util.HashMap<Color, String> {
    private static final long serialVersionUID = 1L;
  }

  public enum Color {
    RED,
    GREEN
  }

  /** Is loaded when a request names it. */
  public static final class Part {
    public static String whole() {
      return "part of " + Bean.loaderName();
    }
  }

  public static int made;

  private final String name;

  public Bean() {
    this("bean");
  }

  public Bean(String name) {
    this.name = name;
    made++;
  }

  public String getName() {
    return name;
  }

  /** By a class of another jar. */
  public String help() {
    return new Helper().help(name);
  }

  public boolean isLike(Bean other) {
    return name.equals(other.name);
  }

  public static int add(int a, int b) {
    return a + b;
  }

  public static String loaderName() {
    return Bean.class.getClassLoader().getName();
  }

  public static String paint(Color color) {
    return color + " of " + color.getClass().getClassLoader().getName();
  }
}
