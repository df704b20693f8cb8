package jpeer.peer;

import java.lang.reflect.Array;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The way from a row to the value of a column: a record's component, a getter, a public field, a Map's key or
 * an index, with a dot between two steps. The way is found once for a class of rows, and the policy is asked
 * once a request about each class that a step meets.
 */
final class ColumnPath {
  private final String[] names; // from each step on: the rest of the path
  private final ColumnStep[] steps;

  /** isName: the text is one name, even if it has dots. */
  ColumnPath(String path, boolean isName) {
    String[] parts = isName ? new String[] {path} : path.split("\\.", -1);
    names = new String[parts.length];
    steps = new ColumnStep[parts.length];
    for (int i = 0, at = 0; i < parts.length; at += parts[i++].length() + 1) {
      names[i] = path.substring(at);
      steps[i] = new ColumnStep(parts[i]);
    }
  }

  String name() {
    return names[0];
  }

  /** A null on the way is the value. */
  Object find(Rows rows, Object row) throws Throwable {
    Object at = row;
    for (int i = 0; i < steps.length && at != null; i++) {
      ColumnStep step = steps[i];
      step.prepare(rows, at);
      // a Map's key may have dots
      if (step.isMap() && i + 1 < steps.length && ((Map<?, ?>) at).get(names[i]) != null) {
        return ((Map<?, ?>) at).get(names[i]);
      }
      at = step.take(at);
    }
    return at;
  }

  /** The type that a record declares for the column. */
  int declaredType(Class<?> rowClass) {
    if (steps.length == 1 && rowClass.isRecord()) {
      for (RecordComponent component : rowClass.getRecordComponents()) {
        if (component.getName().equals(names[0])) {
          return Column.typeOfPrimitive(component.getType());
        }
      }
    }
    return Column.UNKNOWN;
  }

  // ---- the columns of a row, if the request names none ----

  /** The paths of all that the row has. */
  static ColumnPath[] of(Object row) throws BadColumns {
    if (row == null) {
      throw new BadColumns("the first row is null, so that the request has to name 'columns'");
    }
    Class<?> own = row.getClass();
    String[] all;
    if (own.isRecord()) {
      RecordComponent[] components = own.getRecordComponents();
      all = new String[components.length];
      for (int i = 0; i < all.length; i++) {
        all[i] = components[i].getName();
      }
    } else if (own.isArray()) {
      all = indexes(Array.getLength(row));
    } else if (row instanceof List) {
      Rows.ask(own, List.class, "size", "()I");
      all = indexes(((List<?>) row).size());
    } else if (row instanceof Map) {
      all = keys(own, (Map<?, ?>) row);
    } else if (row instanceof Map.Entry) {
      all = new String[] {"key", "value"};
    } else {
      throw new BadColumns("the rows are objects of " + own.getTypeName() + ", so that the request has to name 'columns'");
    }
    if (all.length == 0 && !own.isRecord()) {
      throw new BadColumns("the first row is empty, so that the request has to name 'columns'");
    }
    ColumnPath[] paths = new ColumnPath[all.length];
    for (int i = 0; i < all.length; i++) {
      paths[i] = new ColumnPath(all[i], true);
    }
    return paths;
  }

  private static String[] indexes(int count) {
    String[] all = new String[count];
    for (int i = 0; i < count; i++) {
      all[i] = Integer.toString(i);
    }
    return all;
  }

  private static String[] keys(Class<?> own, Map<?, ?> map) throws BadColumns {
    Rows.ask(own, Map.class, "keySet", "()Ljava/util/Set;");
    Object[] keys = map.keySet().toArray();
    for (Object key : keys) {
      if (!(key instanceof String)) {
        throw new BadColumns("a row is a Map whose keys are not all Strings");
      }
    }
    return Arrays.copyOf(keys, keys.length, String[].class);
  }
}
