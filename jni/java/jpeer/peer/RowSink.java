package jpeer.peer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** Gives the rows of a jpeer.rows to their object: a Collection, or a java.sql.PreparedStatement. */
final class RowSink {
  /* What a row becomes in a Collection. jni/fetch/rows.c has the same numbers. */
  private static final int ARRAY = 0;
  private static final int LIST = 1;
  private static final int MAP = 2;

  /* The objects of the requests that run. */
  private static final Set<Object> busy = Collections.newSetFromMap(new IdentityHashMap<>());

  /* Why there are no update counts. jni/fetch/rows.c has the same numbers. */
  private static final int THROWN = 1;
  private static final int BAD = 2;
  private static final int REFUSED = 3; // by the policy
  private static final int BUSY = 4;

  int row = -1; // the row that is being written; -1: none
  int column = -1;
  boolean isBatchLeft; // the rows before it are in the batch of the statement, and could not be removed
  private int added; // rows that a Collection has got
  private int[] counts; // of a statement; C reads this and the next ones
  private int failure;
  private String place; // of a failure: the row and the column

  private RowSink() {
  }

  /** Returns null, or the exception that ended it. from: the number of the first row in its place. */
  private Throwable write(Object target, int element, SentColumn[] columns, int rows, long from) {
    synchronized (busy) {
      if (!busy.add(target)) {
        failure = BUSY;
        return new IllegalStateException();
      }
    }
    try {
      writeRows(target, element, columns, rows);
      return null;
    } catch (Throwable e) {
      failure = e == Rows.REFUSED ? REFUSED : e instanceof BadColumns ? BAD : THROWN;
      place = place(columns, from);
      return e;
    } finally {
      synchronized (busy) {
        busy.remove(target);
      }
    }
  }

  private String place(SentColumn[] columns, long from) {
    String text = row < 0 ? "" : "row " + (from + row);
    if (column >= 0) {
      String name = columns[column].name;
      text += (text.isEmpty() ? "column " : ", column ") + column + (name == null ? "" : " ('" + name + "')");
    }
    if (added > 0) {
      text += " (" + added + " rows were added)";
    } else if (isBatchLeft && row > 0) {
      text += " (the rows before remain in the batch)";
    }
    return text.isEmpty() ? text : text + ": ";
  }

  private void writeRows(Object target, int element, SentColumn[] columns, int rows) throws Throwable {
    for (column = 0; column < columns.length; column++) {
      columns[column].check(rows);
    }
    column = -1;
    if (isStatement(target)) {
      if (element != ARRAY) {
        throw new BadColumns("'type' is for a Collection");
      }
      counts = StatementRows.write(target, columns, rows, this);
      return;
    }
    if (!(target instanceof Collection)) {
      throw new BadColumns(target.getClass().getTypeName() + " is no PreparedStatement and no Collection");
    }
    Rows.ask(target.getClass(), Collection.class, "add", "(Ljava/lang/Object;)Z");
    @SuppressWarnings("unchecked")
    Collection<Object> collection = (Collection<Object>) target;
    Object[] made = makeElements(element, columns, rows);
    for (row = 0; row < rows; row++) {
      collection.add(made[row]);
      added++;
    }
  }

  private static boolean isStatement(Object target) {
    try {
      return StatementRows.accepts(target);
    } catch (NoClassDefFoundError e) { // this Java has no module java.sql
      return false;
    }
  }

  private Object[] makeElements(int element, SentColumn[] columns, int rows) throws BadColumns {
    Object[][] values = new Object[rows][columns.length];
    for (column = 0; column < columns.length; column++) {
      SentColumn from = columns[column];
      for (row = 0; row < rows; row++) {
        values[row][column] = from.isNull(row) ? null : from.get(row);
      }
    }
    row = -1;
    column = -1;
    if (element == ARRAY) {
      return values;
    }
    if (element == MAP) {
      checkNames(columns);
    }
    Object[] made = new Object[rows];
    for (int i = 0; i < rows; i++) {
      made[i] = element == LIST ? new ArrayList<>(Arrays.asList(values[i])) : map(columns, values[i]);
    }
    return made;
  }

  private void checkNames(SentColumn[] columns) throws BadColumns {
    Set<String> names = new HashSet<>();
    for (column = 0; column < columns.length; column++) {
      if (columns[column].name == null) {
        throw new BadColumns("the column has no 'name', which is the key in a Map");
      }
      if (!names.add(columns[column].name)) {
        throw new BadColumns("two columns have this name, which is the key in a Map");
      }
    }
    column = -1;
  }

  private static Map<String, Object> map(SentColumn[] columns, Object[] values) {
    Map<String, Object> made = new LinkedHashMap<>(columns.length * 2);
    for (int i = 0; i < columns.length; i++) {
      made.put(columns[i].name, values[i]);
    }
    return made;
  }
}
