package jpeer.peer;

import java.util.Arrays;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Reads the elements of an iterator or enumeration for jpeer.fetch, many in one call from C. Elements that
 * were read but not sent are kept here for the next call, and so is an exception, so that nothing is lost.
 *
 * One request at a time has the turn, from begin to end, and only that request calls the other methods. No request
 * waits for the turn, because the iterator may itself wait for that request.
 */
final class Cursor {
  private static final Object[] NOTHING = {};
  /* The index of the element after key and value in a pair. It is this cursor. A kept pair has one more
   * element, the entry from which the pair was read. */
  private static final int MARK = 2;
  private static final int ENTRY = 3;

  /* The last element of the array that take returns is one of these, an exception or a class. */
  private static final Object MORE = null;
  private static final Object END = Boolean.TRUE;
  private static final Object STOP = Boolean.FALSE; // an exception is kept

  private final AtomicBoolean hasTurn = new AtomicBoolean();
  private Object source;
  private boolean readsAhead;
  private boolean isOwn;
  private Object[] kept = NOTHING; // kept elements, from nextKept on
  private int nextKept;
  private Object current; // if hasCurrent: an element that was read, but not returned yet
  private boolean hasCurrent;
  private Throwable thrown;
  private int given; // number of elements that the last take returned
  private Object[] entries; // the entries of the pairs that the last take returned, at the same indexes; null: no pairs

  private Cursor() {
  }

  /** False: another request has the turn. */
  private boolean begin() {
    return hasTurn.compareAndSet(false, true);
  }

  /**
   * Ends the turn. elements: the array of the last take, of which the elements `from` to `to` were not sent;
   * null: all elements were sent. Returns true if the peer itself made the iterator.
   */
  private boolean end(Object[] elements, int from, int to) {
    try {
      if (elements != null) {
        int unsent = to - from;
        Object[] all = Arrays.copyOfRange(elements, from, to + kept.length - nextKept);
        for (int i = 0; entries != null && i < unsent; i++) {
          if (entries[from + i] != null) {
            Object[] pair = (Object[]) all[i];
            all[i] = new Object[] {pair[0], pair[1], this, entries[from + i]};
          }
        }
        System.arraycopy(kept, nextKept, all, unsent, kept.length - nextKept);
        kept = all;
        nextKept = 0;
      }
      return isOwn;
    } finally {
      entries = null;
      hasTurn.set(false);
    }
  }

  /** The iterator or enumeration; null: none yet; this cursor: it was released. */
  private Object source() {
    return source;
  }

  /**
   * @param own whether the peer made the iterator
   * @param cheap whether hasNext costs little, so that it may be called after the last wanted element, too
   */
  private void open(Object iterator, boolean own, boolean cheap) {
    source = iterator;
    isOwn = own;
    readsAhead = cheap;
  }

  /**
   * Returns at most max elements, and after them one of MORE, END, STOP, an exception or a class. An
   * exception is returned once, without elements, and only if wantsThrown.
   *
   * A class is the class of a Map.Entry. The caller then has to say whether entries of this class may be
   * read: entries of the class `readable` become arrays of key and value, and entries of the class `opaque`
   * are returned as they are. This also holds for entries that an earlier request has read, because another
   * caller may have sent that request, or the policy may have changed. With `marks` the array has a third
   * element, this cursor, which distinguishes it from other arrays.
   */
  private Object[] take(int max, boolean wantsThrown, boolean marks, Class<?> readable, Class<?> opaque) {
    Object[] taken = new Object[max + 1];
    int count = 0;
    entries = null;
    Object next = MORE;
    // the class of the last element that was not an entry: usually the next element has the same class
    Class<?> plain = null;
    try {
      while (next == MORE && count < max) {
        if (!hasMore()) {
          next = END;
          break;
        }
        boolean wasKept = hasCurrent || nextKept < kept.length;
        Object element = claim();
        Object[] pair = wasKept && isPair(element) ? (Object[]) element : null;
        Object own = pair == null ? element : pair[ENTRY];
        Class<?> its = own == null ? plain : own.getClass();
        if (its == plain || its == opaque) {
          taken[count++] = own;
        } else if (!(own instanceof Map.Entry)) {
          plain = its;
          taken[count++] = own;
        } else if (its == readable) {
          if (entries == null) {
            entries = new Object[max];
          }
          pair = pair == null ? pairOf((Map.Entry<?, ?>) own, marks) : Arrays.copyOf(pair, marks ? MARK + 1 : MARK);
          entries[count] = own;
          taken[count++] = pair;
        } else {
          current = element;
          hasCurrent = true;
          next = its;
        }
      }
      if (next == MORE && readsAhead && !hasMore()) {
        next = END;
      }
    } catch (Throwable e) {
      thrown = e;
    }
    if (thrown != null && next == END || next == MORE && count < max) {
      next = STOP;
    }
    if (next == STOP && count == 0 && wantsThrown) {
      next = thrown;
      thrown = null;
    }
    taken[count] = next;
    given = count; // C reads the count from here, because there may be no memory for a shorter array
    return taken;
  }

  private boolean hasMore() {
    if (hasCurrent || nextKept < kept.length) {
      return true;
    }
    if (thrown != null) {
      return false;
    }
    return source instanceof Iterator ? ((Iterator<?>) source).hasNext()
        : source instanceof Enumeration && ((Enumeration<?>) source).hasMoreElements();
  }

  /** The next element; there must be one. */
  private Object claim() {
    if (hasCurrent) {
      Object element = current;
      current = null;
      hasCurrent = false;
      return element;
    }
    if (nextKept < kept.length) {
      Object element = kept[nextKept];
      kept[nextKept++] = null;
      return element;
    }
    return source instanceof Iterator ? ((Iterator<?>) source).next() : ((Enumeration<?>) source).nextElement();
  }

  private Object[] pairOf(Map.Entry<?, ?> entry, boolean marks) {
    return marks
        ? new Object[] {entry.getKey(), entry.getValue(), this}
        : new Object[] {entry.getKey(), entry.getValue()};
  }

  /* True for a kept pair. Pairs that take has returned have no entry. */
  private boolean isPair(Object element) {
    return element instanceof Object[]
        && ((Object[]) element).length == ENTRY + 1
        && ((Object[]) element)[MARK] == this;
  }
}
