package jpeer.members;

/** Static fields of every kind. */
public final class Statics {
  public static boolean z = true;
  public static byte b = 1;
  public static char c = 'c';
  public static short s = 2;
  public static int i = 3;
  public static long j = 4;
  public static float f = 5.5f;
  public static double d = 6.5;
  public static String text = "text";
  public static Object object;
  private static volatile long hidden = 9;

  private Statics() {}

  public static long readHidden() {
    return hidden;
  }

  public static boolean not(boolean v) {
    return !v;
  }

  public static byte plus(byte v) {
    return (byte) (v + 1);
  }

  public static char upper(char v) {
    return Character.toUpperCase(v);
  }

  public static short plus(short v) {
    return (short) (v + 1);
  }

  public static float half(float v) {
    return v / 2;
  }

  public static double half(double v) {
    return v / 2;
  }
}
