package jpeer.peer;

import java.lang.reflect.Array;
import java.time.Instant;
import java.util.Date;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.BaseStream;

/** The rows of an iterator or a stream: its elements, in which the paths of the columns find the values. */
final class ObjectRows extends Rows {
  private final Object source; // an Iterator or a BaseStream
  private Iterator<?> iterator;
  private String[] given; // the paths of the request; null: those of the first row
  private ColumnPath[] paths;
  private Object element; // if hasElement: an element that was taken, but is not in the columns yet
  private boolean hasElement;
  private Class<?> rowClass; // of the last row

  ObjectRows(Object source) {
    this.source = source;
  }

  @Override
  void begin(String[] wanted) {
    if (iterator == null && source instanceof BaseStream) {
      ask(source.getClass(), BaseStream.class, "iterator", "()Ljava/util/Iterator;");
      iterator = ((BaseStream<?, ?>) source).iterator();
    } else if (iterator == null) {
      iterator = (Iterator<?>) source;
    }
    ask(iterator.getClass(), Iterator.class, "hasNext", "()Z");
    ask(iterator.getClass(), Iterator.class, "next", "()Ljava/lang/Object;");
    if (wanted != null && paths == null) {
      given = wanted;
      paths = new ColumnPath[wanted.length];
      columns = new Column[wanted.length];
      for (int i = 0; i < wanted.length; i++) {
        paths[i] = new ColumnPath(wanted[i], false);
        columns[i] = new Column(wanted[i], Column.UNKNOWN, true);
      }
    }
  }

  @Override
  boolean next() {
    if (hasElement) {
      return true;
    }
    if (!iterator.hasNext()) {
      return false;
    }
    element = iterator.next();
    hasElement = true;
    return true;
  }

  @Override
  boolean read(int row) throws Throwable {
    boolean isKept = false;
    try {
      return readElement(row);
    } catch (Error refused) {
      isKept = refused == REFUSED;
      throw refused;
    } finally {
      hasElement = isKept;
      element = isKept ? element : null;
    }
  }

  private boolean readElement(int row) throws Throwable {
    Object own = element;
    if (paths == null) {
      paths = ColumnPath.of(own);
      columns = new Column[paths.length];
      for (int i = 0; i < paths.length; i++) {
        columns[i] = new Column(paths[i].name(), Column.UNKNOWN, true);
      }
    }
    if (own != null && own.getClass() != rowClass) {
      rowClass = own.getClass();
      declareTypes();
      checkComponents();
    }
    boolean fits = true;
    int missing = 0;
    for (int i = 0; i < paths.length; i++) {
      Object value = paths[i].find(this, own);
      missing += value == null ? 1 : 0;
      fits &= columns[i].set(row, value == null ? null : modern(value));
    }
    if (given == null && own != null) {
      checkCount(own);
    }
    if (given == null && own instanceof Map) {
      checkKeys((Map<?, ?>) own, missing);
    }
    return fits;
  }

  /* A column has the declared type of its component before its first value. */
  private void declareTypes() {
    for (int i = 0; i < paths.length; i++) {
      columns[i].declare(paths[i].declaredType(rowClass));
    }
  }

  /* Elements beyond the columns of the first row would be lost. */
  private void checkCount(Object own) throws BadColumns {
    int count = own.getClass().isArray() ? Array.getLength(own) : own instanceof List ? ((List<?>) own).size() : -1;
    if (count > paths.length) {
      throw new BadColumns("a row has " + count + " elements, and the first has " + paths.length
          + ": name 'columns' in the request");
    }
  }

  private void checkComponents() throws BadColumns {
    if (given == null && rowClass.isRecord() && rowClass.getRecordComponents().length > paths.length) {
      throw new BadColumns("a row is a " + rowClass.getTypeName() + " with more components than the columns of the first"
          + ": name 'columns' in the request");
    }
  }

  /* The same for keys. A key that a later row lacks is null. */
  private void checkKeys(Map<?, ?> row, int missing) throws BadColumns {
    if (row.size() + missing <= paths.length) {
      return;
    }
    ask(row.getClass(), Map.class, "keySet", "()Ljava/util/Set;");
    for (Object key : row.keySet()) {
      boolean isColumn = false;
      for (int i = 0; i < paths.length && !isColumn; i++) {
        isColumn = paths[i].name().equals(key);
      }
      if (!isColumn) {
        throw new BadColumns("a row has the key '" + (key instanceof String ? key : "?")
            + "', and the first has not: name 'columns' in the request");
      }
    }
  }

  private static Object modern(Object value) {
    Class<?> own = value.getClass();
    if (own == Date.class) {
      return Instant.ofEpochMilli(((Date) value).getTime());
    }
    // the class with java.sql's names is only needed where the application has their objects
    return own.getName().startsWith("java.sql.") ? ResultSetRows.modern(value) : value;
  }
}
