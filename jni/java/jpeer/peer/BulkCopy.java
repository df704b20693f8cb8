package jpeer.peer;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;

/**
 * Copies many elements into a collection, map or array in one call from C, because such a call costs as much
 * as several elements. kinds has a letter for each element:
 *
 * - a primitive's JVM letter: bits has the primitive, which is boxed here
 * - 'T': bits locates a text in units, with its beginning in the upper half and its length in the lower
 * - 0: objects has the element
 *
 * units and objects may be null if they are not used.
 */
final class BulkCopy {
  private BulkCopy() {
  }

  static void add(Collection<Object> collection, int count, byte[] kinds, long[] bits, char[] units, Object[] objects) {
    for (int i = 0; i < count; i++) {
      collection.add(kinds[i] == 0 ? objects[i] : make(kinds[i], bits[i], units));
    }
  }

  /**
   * Makes an empty set that compares keys in the same way as the map: 1.0 and 1.00 are the same key in a
   * TreeMap.
   */
  static Set<Object> noKeys(Map<Object, Object> map, Class<?> type) {
    if (!(map instanceof SortedMap<Object, Object> sorted)) {
      return new HashSet<>();
    }
    Comparator<? super Object> comparator = sorted.comparator();
    return comparator != null || Comparable.class.isAssignableFrom(type) ? new TreeSet<>(comparator) : new HashSet<>();
  }

  /**
   * Puts entries into the map until the key of an entry exists already, and returns the index of that entry.
   * Returns count if no key repeats. keyKinds, keyBits and keyObjects have the form of kinds, bits and
   * objects.
   *
   * @param keys the keys so far, a set made by noKeys; null: the keys are distinct Strings
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
