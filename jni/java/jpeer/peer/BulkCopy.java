package jpeer.peer;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;

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

  /** An empty set in which two keys of the type are one where the map takes them for one: 1.0 and 1.00 in a TreeMap. */
  static Set<Object> noKeys(Map<Object, Object> map, Class<?> type) {
    if (!(map instanceof SortedMap<Object, Object> sorted)) {
      return new HashSet<>();
    }
    Comparator<? super Object> comparator = sorted.comparator();
    return comparator != null || Comparable.class.isAssignableFrom(type) ? new TreeSet<>(comparator) : new HashSet<>();
  }

  /**
   * Puts entries until a key is there already, in which case that is the entry of the returned index. Returns count where
   * there is no such entry. keyKinds, keyBits and keyObjects are as kinds, bits and objects.
   *
   * @param keys what was put before, as noKeys has made it; null: the keys are Strings that differ
   */
  static int put(Map<Object, Object> map, Set<Object> keys, int count, byte[] keyKinds, long[] keyBits,
      Object[] keyObjects, byte[] kinds, long[] bits, char[] units, Object[] objects) {
    for (int i = 0; i < count; i++) {
      Object key = keyKinds[i] == 0 ? keyObjects[i] : make(keyKinds[i], keyBits[i], units);
      if (keys != null && !keys.add(key)) {
        return i;
      }
      map.put(key, kinds[i] == 0 ? objects[i] : make(kinds[i], bits[i], units));
    }
    return count;
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
