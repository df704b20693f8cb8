package jpeer.peer;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.BaseStream;

/**
 * Reads the rows of a source for jpeer.columns, a page in one call from C. A row that was read but not sent is
 * kept for the next page, and so is an exception, so that nothing is lost.
 *
 * One request at a time has the turn, from begin to end, and only that request calls the other methods.
 */
final class ColumnPages {
  private static final int FRAME = 128; // bytes of an answer beside its columns
  private static final int COLUMN_FRAME = 192; // bytes of a column beside its name and its buffers
  private static final int UNIT_TEXT = 6; // an escaped unit of the name, as \u0000

  private final AtomicBoolean hasTurn = new AtomicBoolean();
  private Rows source;
  private boolean isOwn;
  private boolean isOpen; // a request has begun
  private String[] paths; // of that request; null: it has named none
  private Column[] columns = {}; // of the page; C reads it
  private int rows; // the rows of the page; C reads it
  private boolean isDone; // C reads it
  private int stored; // whole rows in the columns, those of the page included
  private boolean hasMisfits; // after these there is a row with values that do not fit their columns
  private boolean hasEnded;
  private Throwable thrown; // for the answer after the rows before it
  private boolean isRefused; // the policy denies the next row to this request
  private long total; // the rows of all pages before, and those that were lost by an exception

  private ColumnPages() {
  }

  /**
   * The object that has the position in the source: the source itself, or a new iterator. A BadColumns or
   * another exception is returned as it is.
   */
  private static Object open(Object source, int from) {
    try {
      if (source instanceof Iterator || source instanceof BaseStream || isResultSet(source)) {
        return from == 0 ? source : new BadColumns("'from' is for arrays");
      }
      return openIterator(source, from);
    } catch (Throwable e) {
      return e;
    }
  }

  private static Object openIterator(Object source, int from) throws BadColumns {
    Class<?> own = source.getClass();
    if (source instanceof Object[]) {
      Rows.ask(own, own, "", "[]");
      List<Object> all = Arrays.asList((Object[]) source);
      if (from > all.size()) {
        throw new ArrayIndexOutOfBoundsException("'from' is " + from + ", and the length " + all.size());
      }
      return all.listIterator(from);
    }
    Iterable<?> iterable = null;
    if (source instanceof Map) {
      Rows.ask(own, Map.class, "entrySet", "()Ljava/util/Set;");
      iterable = ((Map<?, ?>) source).entrySet();
    } else if (source instanceof Iterable) {
      iterable = (Iterable<?>) source;
    }
    if (iterable == null) {
      throw new BadColumns(own.getTypeName() + " is no ResultSet, Iterator, Iterable, BaseStream, Map or array of objects");
    }
    if (from != 0) {
      throw new BadColumns("'from' is for arrays");
    }
    Rows.ask(iterable.getClass(), Iterable.class, "iterator", "()Ljava/util/Iterator;");
    Object iterator = iterable.iterator();
    if (iterator == null) {
      throw new BadColumns(own.getTypeName() + ".iterator returned null");
    }
    return iterator;
  }

  private static boolean isResultSet(Object source) {
    try {
      return ResultSetRows.of(source) != null;
    } catch (NoClassDefFoundError e) { // this Java has no module java.sql
      return false;
    }
  }

  /** False: another request has the turn. */
  private boolean begin() {
    return hasTurn.compareAndSet(false, true);
  }

  /** Returns true if the peer itself made the iterator; own: it did so in this request. */
  private boolean end(boolean own) {
    isOwn |= own;
    boolean wasOwn = isOwn;
    hasTurn.set(false);
    return wasOwn;
  }

  /**
   * Reads a page. room: the bytes that the answer may have; isWhole: no answer has more. cells: the most values
   * of an answer. Returns null, or the exception that is the answer.
   */
  private Throwable take(Object holder, String[] wanted, int max, long room, boolean isWhole, long cells) {
    try {
      if (source == null) {
        source = isResultSet(holder) ? ResultSetRows.of(holder) : new ObjectRows(holder);
      }
      if (isOpen && wanted != null && !Arrays.equals(wanted, paths)) {
        throw new BadColumns("the 'columns' of the first request remain");
      }
      paths = isOpen ? paths : wanted;
      source.beginPage(paths);
      isOpen = true;
      return readPage(max, room, isWhole, cells);
    } catch (Throwable e) {
      return e;
    }
  }

  private Throwable readPage(int max, long room, boolean isWhole, long cells) {
    discardSent();
    isRefused = false;
    long most = Math.max(1, Math.min(max, cells / Math.max(1, source.columns.length)));
    while (stored < most && (stored == 0 || size(stored) <= room)) {
      if (hasMisfits) {
        if (stored > 0) {
          break; // the rows before are a page of the old types
        }
        acceptMisfits();
      } else if (hasEnded || thrown != null || !readRow()) {
        break;
      }
    }
    columns = source.columns;
    rows = (int) Math.min(stored, most);
    while (rows > 0 && size(rows) > room) {
      rows--;
    }
    if (rows == 0 && stored > 0 && isWhole) {
      spill(room);
      rows = 1;
    }
    if (stored == 0 && isRefused) {
      return Rows.REFUSED;
    }
    if (stored == 0 && thrown != null) {
      Throwable given = thrown;
      thrown = null;
      return given;
    }
    return null;
  }

  /* False: no row was added that fits its columns. */
  private boolean readRow() {
    try {
      if (!source.next()) {
        hasEnded = true;
      } else if (source.read(stored)) {
        stored++;
      } else {
        hasMisfits = true;
      }
    } catch (BadColumns e) {
      dropMisfits();
      thrown = new BadColumns("row " + (total++ + stored) + ": " + e.getMessage());
    } catch (Throwable e) {
      dropMisfits();
      isRefused = e == Rows.REFUSED;
      thrown = isRefused ? null : e;
      total += isRefused ? 0 : 1;
    }
    return thrown == null && !isRefused && !hasEnded;
  }

  private void dropMisfits() {
    for (Column column : source.columns) {
      column.dropMisfit();
    }
  }

  private void acceptMisfits() {
    for (Column column : source.columns) {
      if (column.hasMisfit()) {
        column.acceptMisfit();
      }
    }
    hasMisfits = false;
    stored = 1;
  }

  private void discardSent() {
    for (Column column : source.columns) {
      column.discard(rows, stored + (hasMisfits && !column.hasMisfit() ? 1 : 0));
    }
    stored -= rows;
    total += rows;
    rows = 0;
  }

  /* An upper bound of the bytes of an answer with the first rows. C counts the texts of objects. */
  private long size(int count) {
    long frame = FRAME;
    long width = 0;
    long bytes = 0;
    for (Column column : source.columns) {
      frame += COLUMN_FRAME + (long) UNIT_TEXT * column.name.length();
      width += column.width();
      bytes += column.sizeOf(count);
    }
    // in base64, with a bit for each null
    return frame + ((width * 8 + source.columns.length) * count / 8 + bytes) * 4 / 3;
  }

  /* Sends the longest texts and binaries of the first row as objects, until the row fits. */
  private void spill(long room) {
    while (size(1) > room) {
      Column longest = null;
      for (Column column : source.columns) {
        if (longest == null || column.sizeOf(1) > longest.sizeOf(1)) {
          longest = column;
        }
      }
      if (longest == null || longest.sizeOf(1) <= longest.width()) {
        return; // C says that the names of the columns are too long
      }
      longest.spill();
    }
  }

  /** The bytes of an answer with the first row, the first two rows, and so on, without the texts of objects. */
  private long[] sizes() {
    long[] sizes = new long[rows];
    for (int i = 0; i < rows; i++) {
      sizes[i] = size(i + 1);
    }
    return sizes;
  }

  /** Sends fewer rows, because the texts of the objects in the others have no room. */
  private void cut(int count) {
    rows = count;
  }

  /** Completes the page. Returns the type of each column. */
  private int[] finish() {
    int[] types = new int[columns.length];
    for (int i = 0; i < types.length; i++) {
      types[i] = columns[i].finish(rows);
    }
    isDone = hasEnded && thrown == null && rows == stored && !hasMisfits;
    return types;
  }
}
