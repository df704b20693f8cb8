package jpeer.members;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentNavigableMap;

/** Overloads that a value without a type must choose from. */
public final class Numbers {
  private Numbers() {}

  public static String small(byte v) {
    return "byte";
  }

  public static String small(short v) {
    return "short";
  }

  public static String big(BigInteger v) {
    return "BigInteger";
  }

  public static String big(BigDecimal v) {
    return "BigDecimal";
  }

  public static String text(char v) {
    return "char";
  }

  public static String text(int v) {
    return "int";
  }

  public static String array(int[] v) {
    return "int[]";
  }

  public static String array(String[] v) {
    return "String[]";
  }

  public static String arrays(Object[] v) {
    return "Object[]";
  }

  public static String arrays(double[] v) {
    return "double[]";
  }

  public static String arrays(long[] v) {
    return "long[]";
  }

  public static String arrays(int[] v) {
    return "int[]";
  }

  public static String arrays(short[] v) {
    return "short[]";
  }

  public static String arrays(double[][] v, Object w) {
    return "double[][]";
  }

  public static String arrays(int[][] v, Object w) {
    return "int[][]";
  }

  public static String crossed(int[] v, int[][] w) {
    return "int[],int[][]";
  }

  public static String crossed(int[][] v, int[] w) {
    return "int[][],int[]";
  }

  public static String queue(BlockingQueue<?> v) {
    return v.getClass().getSimpleName();
  }

  public static String sorted(ConcurrentNavigableMap<?, ?> v) {
    return v.getClass().getSimpleName();
  }

  public static String either(Set<?> v) {
    return "Set";
  }

  public static String either(Deque<?> v) {
    return "Deque";
  }

  public static String many(Set<?> v) {
    return "Set";
  }

  public static String many(int[] v) {
    return "int[]";
  }

  public static String many(Object v, List<?> w) {
    return "Object,List";
  }

  public static String spread(byte... v) {
    return "byte" + v.length;
  }

  public static String wrapped(Long v) {
    return "Long";
  }

  public static String flag(String v) {
    return "String " + v;
  }

  public static String onlyByte(byte v) {
    return "byte " + v;
  }

  public static String onlyInt(int v) {
    return "int " + v;
  }

  public static String onlyFloat(float v) {
    return "float " + v;
  }

  public static String choose(long v) {
    return "long";
  }

  public static String choose(double v) {
    return "double";
  }

  public static String choose(float v) {
    return "float";
  }

  /* Public overloads go first, also where a value has to be turned into what they take. */
  public static String shown(String v) {
    return "public";
  }

  static String shown(Integer v) {
    return "package";
  }
}
