package jpeer.members;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;

/** Tells what arrived. */
public final class Conversions {
  private Conversions() {}

  public enum Size {
    SMALL,
    LARGE
  }

  /** A collection of the application's own. */
  public static class Bag extends AbstractList<Object> {
    private final ArrayList<Object> items = new ArrayList<>();

    @Override
    public boolean add(Object item) {
      return items.add(item);
    }

    @Override
    public Object get(int index) {
      return items.get(index);
    }

    @Override
    public int size() {
      return items.size();
    }
  }

  /** A collection that does not want to be filled. */
  public static class Spiteful extends ArrayList<Object> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean add(Object item) {
      throw new IllegalStateException("not " + item);
    }
  }

  /** No constructor without arguments. */
  public static class Sized extends ArrayList<Object> {
    private static final long serialVersionUID = 1L;

    public Sized(int size) {
      super(size);
    }
  }

  private static String tell(Object value) {
    if (value instanceof Object[] array) {
      StringBuilder text = new StringBuilder(array.getClass().getSimpleName()).append('[');
      for (Object element : array) {
        text.append(tell(element)).append(' ');
      }
      return text.append(']').toString();
    }
    if (value instanceof int[] ints) {
      return "int" + Arrays.toString(ints);
    }
    if (value instanceof Map<?, ?> map) {
      StringBuilder text = new StringBuilder(value.getClass().getSimpleName()).append('{');
      for (Map.Entry<?, ?> entry : new TreeMap<>(map).entrySet()) {
        text.append(entry.getKey()).append('=').append(tell(entry.getValue())).append(' ');
      }
      return text.append('}').toString();
    }
    if (value instanceof Collection<?> collection) {
      StringBuilder text = new StringBuilder(value.getClass().getSimpleName()).append('[');
      for (Object element : collection) {
        text.append(tell(element)).append(' ');
      }
      return text.append(']').toString();
    }
    return value == null ? "null" : value.getClass().getSimpleName() + ":" + value;
  }

  public static String any(Object v) {
    return tell(v);
  }

  public static String number(Number v) {
    return tell(v);
  }

  public static String chars(CharSequence v) {
    return tell(v);
  }

  public static String comparable(Comparable<?> v) {
    return tell(v);
  }

  public static String serializable(Serializable v) {
    return tell(v);
  }

  public static String iterable(Iterable<?> v) {
    return tell(v);
  }

  public static String linked(LinkedHashMap<?, ?> v) {
    return tell(v);
  }

  public static String sortedMap(SortedMap<?, ?> v) {
    return tell(v);
  }

  public static String sortedSet(SortedSet<?> v) {
    return tell(v);
  }

  public static String treeSet(TreeSet<?> v) {
    return tell(v);
  }

  public static String deque(Deque<?> v) {
    return tell(v);
  }

  public static String cow(CopyOnWriteArrayList<?> v) {
    return tell(v);
  }

  public static String bag(Bag v) {
    return tell(v);
  }

  public static String spiteful(Spiteful v) {
    return tell(v);
  }

  public static String sized(Sized v) {
    return tell(v);
  }

  public static String size(Size v) {
    return tell(v);
  }

  public static String sizes(Size[] v) {
    return tell(v);
  }

  public static String objects(Object[] v) {
    return tell(v);
  }

  public static String strings(String[] v) {
    return tell(v);
  }

  public static String integers(Integer[] v) {
    return tell(v);
  }

  public static String grid(int[][] v) {
    return tell(v);
  }

  public static String cube(long[][][] v) {
    return v.length + "/" + v[0].length + "/" + v[0][0].length + "/" + v[0][0][0];
  }

  public static String lists(List<?>[] v) {
    return tell(v);
  }

  public static String doubles(double[] v) {
    return Arrays.toString(v);
  }

  public static String floats(float[] v) {
    return Arrays.toString(v);
  }

  public static String letters(char[] v) {
    return new String(v);
  }

  public static String flags(boolean[] v) {
    return Arrays.toString(v);
  }

  public static String bytes(byte[] v) {
    return Arrays.toString(v);
  }

  public static String decimal(BigDecimal v) {
    return tell(v);
  }

  public static String integer(BigInteger v) {
    return tell(v);
  }

  public static String uuid(UUID v) {
    return tell(v);
  }

  public static String date(LocalDate v) {
    return tell(v);
  }

  public static String time(LocalTime v) {
    return tell(v);
  }

  public static String dateTime(LocalDateTime v) {
    return tell(v);
  }

  public static String offset(OffsetDateTime v) {
    return tell(v);
  }

  public static String zoned(ZonedDateTime v) {
    return tell(v);
  }

  public static String zone(ZoneId v) {
    return v.getId();
  }

  public static String period(Period v) {
    return tell(v);
  }

  public static String year(Year v) {
    return tell(v);
  }

  public static String yearMonth(YearMonth v) {
    return tell(v);
  }

  public static String named(Class<?> v) {
    return v.getName();
  }

  public static String thread(Thread v) {
    return tell(v);
  }
}
