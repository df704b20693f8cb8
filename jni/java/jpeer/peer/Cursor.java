package jpeer.peer;

import java.util.Arrays;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Takes the elements of an iterator or enumeration for jpeer.fetch, many in one call from C. What was taken and has not
 * been told waits here, and so does an exception: nothing of it is lost.
 *
 * One request at a time has the turn, from begin to end, and only it calls the other methods. Another one waits for the
 * turn, though not for ever: the iterator may itself wait for that request.
 */
final class Cursor {
  private static final long PATIENCE_SECONDS = 5;
  private static final Object[] NOTHING = {};
  /* The indexes of what a pair has behind key and value: this cursor, and while it waits the entry that it is of. */
  private static final int MARK = 2;
  private static final int ENTRY = 3;

  /* The array that take gives has one of these behind the elements. */
  private static final Object MORE = null;
  private static final Object END = Boolean.TRUE;
  private static final Object STOP = Boolean.FALSE; // an exception waits

  private final Semaphore turn = new Semaphore(1);
  private Object source;
  private boolean looksAhead;
  private boolean isOwn;
  private Object[] waiting = NOTHING; // from nextWaiting on
  private int nextWaiting;
  private Object current; // where hasCurrent: taken, and not given yet
  private boolean hasCurrent;
  private Throwable thrown;
  private int given; // how many elements the last take gave
  private Object[] entries; // those of the pairs that it gave, at the same indexes; null: it gave none

  private Cursor() {
  }

  /** False: another request has the turn. One that is nested in a callback does not wait: the turn may wait for it. */
  private boolean begin(boolean isNested) throws InterruptedException {
    return isNested ? turn.tryAcquire() : turn.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /**
   * Ends the turn. elements: those from `from` to `to` were given by the last take and have not been told; null: all have
   * been. True where the peer itself made the iterator.
   */
  private boolean end(Object[] elements, int from, int to) {
    try {
      if (elements != null) {
        int untold = to - from;
        Object[] all = Arrays.copyOfRange(elements, from, to + waiting.length - nextWaiting);
        for (int i = 0; entries != null && i < untold; i++) {
          if (entries[from + i] != null) {
            Object[] pair = (Object[]) all[i];
            all[i] = new Object[] {pair[0], pair[1], this, entries[from + i]};
          }
        }
        System.arraycopy(waiting, nextWaiting, all, untold, waiting.length - nextWaiting);
        waiting = all;
        nextWaiting = 0;
      }
      return isOwn;
    } finally {
      entries = null;
      turn.release();
    }
  }

  /** The iterator or enumeration; null: there is none yet; this cursor: it has been let go. */
  private Object source() {
    return source;
  }

  /**
   * @param own whether the peer made the iterator
   * @param cheap whether hasNext costs little, so that it is asked behind the last element that is wanted, too
   */
  private void open(Object iterator, boolean own, boolean cheap) {
    source = iterator;
    isOwn = own;
    looksAhead = cheap;
  }

  /**
   * The next elements, at most max, and behind them what comes next: MORE, END, STOP, an exception or a class. The class
   * is that of a Map.Entry, of which the caller has to say first whether it may be read: entries of the class `readable`
   * become arrays of key and value, those of the class `opaque` stay what they are. That goes for entries, too, that were
   * read for an earlier request: this one may be another caller's, or the policy another one. With `marks` this cursor is
   * the third element of such an array, which no other array is. An exception is given once, without elements, and only
   * to a caller that wants it.
   */
  private Object[] take(int max, boolean wantsThrown, boolean marks, Class<?> readable, Class<?> opaque) {
    Object[] taken = new Object[max + 1];
    int count = 0;
    entries = null;
    Object next = MORE;
    Class<?> plain = null; // of the last element that was no entry: mostly the next one's, and quickly compared
    try {
      while (next == MORE && count < max) {
        if (!hasMore()) {
          next = END;
          break;
        }
        boolean hasWaited = hasCurrent || nextWaiting < waiting.length;
        Object element = claim();
        Object[] pair = hasWaited && isPair(element) ? (Object[]) element : null;
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
      if (next == MORE && looksAhead && !hasMore()) {
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
    given = count; // in place of a shorter array, for which there may be no memory
    return taken;
  }

  private boolean hasMore() {
    if (hasCurrent || nextWaiting < waiting.length) {
      return true;
    }
    if (thrown != null) {
      return false;
    }
    return source instanceof Iterator ? ((Iterator<?>) source).hasNext()
        : source instanceof Enumeration && ((Enumeration<?>) source).hasMoreElements();
  }

  /** The next element, where there is one. */
  private Object claim() {
    if (hasCurrent) {
      Object element = current;
      current = null;
      hasCurrent = false;
      return element;
    }
    if (nextWaiting < waiting.length) {
      Object element = waiting[nextWaiting];
      waiting[nextWaiting++] = null;
      return element;
    }
    return source instanceof Iterator ? ((Iterator<?>) source).next() : ((Enumeration<?>) source).nextElement();
  }

  private Object[] pairOf(Map.Entry<?, ?> entry, boolean marks) {
    return marks
        ? new Object[] {entry.getKey(), entry.getValue(), this}
        : new Object[] {entry.getKey(), entry.getValue()};
  }

  /* A pair that waits. Those that are given have no entry. */
  private boolean isPair(Object element) {
    return element instanceof Object[]
        && ((Object[]) element).length == ENTRY + 1
        && ((Object[]) element)[MARK] == this;
  }
}
