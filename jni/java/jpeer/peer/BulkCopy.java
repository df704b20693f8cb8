package jpeer.peer;

import java.util.Collection;
import java.util.Map;

/**
 * Fills collections, maps and arrays in one call from C: each call from there costs as much as several elements do
 * here. Of each element kinds has the JVM letter of the primitive that bits holds, to be boxed; 'T' where bits tells of
 * a text in units, its beginning in the upper half and its length in the lower; and 0 where it stands in objects. units
 * and objects may be null where there is nothing in them.
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
