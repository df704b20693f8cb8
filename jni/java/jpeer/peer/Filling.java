package jpeer.peer;

import java.util.Collection;

/** Adds many elements in one call from C: each call from there costs as much as several elements do here. */
final class Filling {
  private Filling() {
  }

  /**
   * Adds count elements: kinds says of each, by its JVM letter, which primitive bits holds, to be boxed; 0: it stands
   * in objects, which may be null where there is none.
   */
  static void add(Collection<Object> collection, int count, byte[] kinds, long[] bits, Object[] objects) {
    for (int i = 0; i < count; i++) {
      collection.add(kinds[i] == 0 ? objects[i] : box(kinds[i], bits[i]));
    }
  }

  private static Object box(byte kind, long bits) {
    switch (kind) {
      case 'Z':
        return bits != 0;
      case 'B':
        return (byte) bits;
      case 'C':
        return (char) bits;
      case 'S':
        return (short) bits;
      case 'I':
        return (int) bits;
      case 'J':
        return bits;
      case 'F':
        return Float.intBitsToFloat((int) bits);
      default:
        return Double.longBitsToDouble(bits);
    }
  }
}
