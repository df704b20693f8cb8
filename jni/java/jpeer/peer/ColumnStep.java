package jpeer.peer;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;

/** One step of a ColumnPath, with what it was for the last class of objects. */
final class ColumnStep {
  private static final int ARRAY = 0;
  private static final int LIST = 1;
  private static final int MAP = 2;
  private static final int METHOD = 3;
  private static final int FIELD = 4;

  private final String name;
  private final int index; // -1: the name is no index
  private Class<?> known; // the class that the fields below are for
  private long page; // the last request that has asked about it
  private int kind;
  private Method method;
  private Field field;

  ColumnStep(String name) {
    this.name = name;
    index = name.matches("[0-9]{1,9}") ? Integer.parseInt(name) : -1;
  }

  boolean isMap() {
    return kind == MAP;
  }

  void prepare(Rows rows, Object at) throws BadColumns {
    Class<?> own = at.getClass();
    if (own == known && page == rows.page) {
      return;
    }
    if (own != known) {
      resolve(own, at);
    }
    ask(own, at);
    known = own;
    page = rows.page;
  }

  private void resolve(Class<?> own, Object at) throws BadColumns {
    known = null;
    kind = own.isArray() ? ARRAY : at instanceof List ? LIST : at instanceof Map ? MAP : METHOD;
    if (kind != METHOD) {
      if (kind != MAP && index < 0) {
        throw new BadColumns("column '" + name + "': " + own.getTypeName() + " has elements by their index only");
      }
      return;
    }
    method = findMethod(own);
    if (method == null) {
      kind = FIELD;
      field = findField(own);
    }
  }

  private Method findMethod(Class<?> own) {
    if (own.isRecord()) {
      for (RecordComponent component : own.getRecordComponents()) {
        if (component.getName().equals(name) && component.getAccessor().trySetAccessible()) {
          return component.getAccessor();
        }
      }
    }
    if (name.isEmpty()) {
      return null;
    }
    String rest = Character.toUpperCase(name.charAt(0)) + name.substring(1);
    Method getter = findPublic(own, "get" + rest);
    if (getter == null) {
      getter = findPublic(own, "is" + rest);
      getter = getter != null && getter.getReturnType() == boolean.class ? getter : null;
    }
    return getter;
  }

  /* The method of the nearest class or interface that may be called by reflection: a class may be in a package
   * that its module does not export, and have the method from an interface. */
  private static Method findPublic(Class<?> from, String wanted) {
    for (Class<?> at = from; at != null; at = at.getSuperclass()) {
      Method found = declared(at, wanted);
      if (found != null) {
        return found;
      }
    }
    for (Class<?> at = from; at != null; at = at.getSuperclass()) {
      for (Class<?> each : at.getInterfaces()) {
        Method found = findPublic(each, wanted);
        if (found != null) {
          return found;
        }
      }
    }
    return null;
  }

  private static Method declared(Class<?> at, String wanted) {
    try {
      Method found = at.getDeclaredMethod(wanted);
      boolean isGetter = Modifier.isPublic(found.getModifiers()) && !Modifier.isStatic(found.getModifiers())
          && found.getReturnType() != void.class;
      return isGetter && found.trySetAccessible() ? found : null;
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  private Field findField(Class<?> own) throws BadColumns {
    try {
      Field found = own.getField(name);
      if (!Modifier.isStatic(found.getModifiers()) && found.trySetAccessible()) {
        return found;
      }
    } catch (NoSuchFieldException e) {
      // the error below names it
    }
    throw new BadColumns("column '" + name + "': " + own.getTypeName()
        + " has no record component, getter or public field of that name");
  }

  private void ask(Class<?> own, Object at) {
    switch (kind) {
      case ARRAY:
        Rows.ask(own, own, name, "[]");
        break;
      case LIST:
        Rows.ask(own, List.class, "size", "()I");
        if (at instanceof RandomAccess) {
          Rows.ask(own, List.class, "get", "(I)Ljava/lang/Object;");
        } else {
          Rows.ask(own, List.class, "toArray", "()[Ljava/lang/Object;");
        }
        break;
      case MAP:
        Rows.ask(own, Map.class, "get", "(Ljava/lang/Object;)Ljava/lang/Object;");
        break;
      case METHOD:
        Rows.ask(own, method.getDeclaringClass(), method.getName(), "()" + method.getReturnType().descriptorString());
        break;
      default:
        Rows.ask(own, field.getDeclaringClass(), name, field.getType().descriptorString());
    }
  }

  Object take(Object at) throws Throwable {
    switch (kind) {
      case ARRAY: {
        int length = Array.getLength(at);
        check(length);
        return at instanceof Object[] ? ((Object[]) at)[index] : Array.get(at, index);
      }
      case LIST: {
        List<?> list = (List<?>) at;
        check(list.size());
        return list instanceof RandomAccess ? list.get(index) : list.toArray()[index];
      }
      case MAP:
        return ((Map<?, ?>) at).get(name);
      case METHOD:
        try {
          return method.invoke(at);
        } catch (InvocationTargetException e) {
          throw e.getCause();
        }
      default:
        return field.get(at);
    }
  }

  private void check(int length) throws BadColumns {
    if (index >= length) {
      throw new BadColumns("column '" + name + "': the row has only " + length + " elements");
    }
  }
}
