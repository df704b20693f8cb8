package jpeer.peer;

import java.util.Collection;
import java.util.Map;

/**
 * Copies many elements into a collection, map or array in one call from C, because such a call costs as much as several
 * elements cost here. kinds has a letter for each element. A primitive's JVM letter: bits holds the primitive, which is
 * boxed. 'T': bits locates a text in units, with its beginning in the upper half and its length in the lower. 0: the
 * element is in objects. units and objects may be null if nothing is in them.
 */
final class BulkCopy {
  private BulkCopy() {
  }

  static void add(Collection<Object> collection, int count, byte[] kinds, long[] bits, char[] units, Object[] objects) {
    for (int i = 0; i < count; i++) {
      collection.add(kinds[i] == 0 ? objects[i] : make(kinds[i], bits[i], units));
    }
  }

  /** @param keys texts in units, as those of bits */
  static void put(Map<Object, Object> map, int count, long[] keys, byte[] kinds, long[] bits, char[] units,
      Object[] objects) {
    for (int i = 0; i < count; i++) {
      map.put(text(keys[i], units), kinds[i] == 0 ? objects[i] : make(kinds[i], bits[i], units));
    }
  }

  /** @param from index of the first element that is set */
  static void set(Object[] array, int from, int count, byte[] kinds, long[] bits, char[] units, Object[] objects) {
    for (int i = 0; i < count; i++) {
      array[from + i] = kinds[i] == 0 ? objects[i] : make(kinds[i], bits[i], units);
    }
  }

  private static String text(long where, char[] units) {
    return new String(units, (int) (where >>> 32), (int) where);
  }

  private static Object make(byte kind, long bits, char[] units) {
    switch (kind) {
      case 'T':
        return text(bits, units);
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
