package jpeer.members;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Collections and maps that come back by value, honest and otherwise. */
public class Containers {
  public static Map<Object, Object> keys() {
    Map<Object, Object> map = new LinkedHashMap<>();
    map.put(1, 'c');
    map.put(2.5f, true);
    map.put(null, new int[] {1, 2});
    map.put("text", new Object[] {null, "x"});
    return map;
  }

  public static Map<Object, Object> objectKeys() {
    Map<Object, Object> map = new LinkedHashMap<>();
    map.put(new Object(), 1);
    return map;
  }

  /** The third element has no JSON text. */
  public static List<Object> objects() {
    return List.of(1, 2, new Object());
  }

  public static List<Object> nested(int levels) {
    List<Object> list = new ArrayList<>();
    return levels == 1 ? list : new ArrayList<>(List.of(nested(levels - 1)));
  }

  public static Map<Object, Object> circle() {
    Map<Object, Object> map = new LinkedHashMap<>();
    map.put("self", List.of(new Object[] {map}[0]));
    return map;
  }

  /** The same list twice is no circle. */
  public static List<Object> shared() {
    List<Object> inner = List.of(1);
    return List.of(inner, inner);
  }

  /** Says that it has one element and gives three. */
  public static List<Object> lying() {
    return new AbstractList<>() {
      @Override
      public Object get(int index) {
        return index;
      }

      @Override
      public int size() {
        return 1;
      }

      @Override
      public Object[] toArray() {
        return new Object[] {1, 2, 3};
      }
    };
  }

  public static List<Object> throwing() {
    return new AbstractList<>() {
      @Override
      public Object get(int index) {
        throw new IllegalStateException("get");
      }

      @Override
      public int size() {
        return 2;
      }
    };
  }

  public static List<Object> absent() {
    return new AbstractList<>() {
      @Override
      public Object get(int index) {
        return null;
      }

      @Override
      public int size() {
        return -1;
      }

      @Override
      public Object[] toArray() {
        return null;
      }
    };
  }
}
