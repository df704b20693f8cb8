package jpeer.peer;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Arrays;

/**
 * A column of jpeer.columns: its type, and the values of the rows that were read and not sent yet. C reads the
 * fields and writes them in the layout of Apache Arrow (jni/fetch/columns.c).
 *
 * A row is written at its index, so that a row that was read only in part is overwritten by the next one.
 */
final class Column {
  /* The types; jni/fetch/columns.c has the same numbers. The whole numbers are in the order in which a column
   * becomes wider. */
  static final int BYTE = 0;
  static final int SHORT = 1;
  static final int INT = 2;
  static final int LONG = 3;
  static final int FLOAT = 4;
  static final int DOUBLE = 5;
  static final int CHAR = 6;
  static final int BOOLEAN = 7;
  static final int DATE = 8;
  static final int TIME = 9;
  static final int TIMESTAMP = 10; // in microseconds; the next one in nanoseconds
  static final int TIMESTAMP_NANOS = 11;
  static final int INSTANT = 12;
  static final int INSTANT_NANOS = 13;
  static final int DECIMAL = 14; // decimal128
  static final int DECIMAL_TEXT = 15;
  static final int STRING = 16;
  static final int BINARY = 17;
  static final int OBJECT = 18;
  static final int UNKNOWN = 19; // every value so far is null; sent as OBJECT

  static final int DECIMAL_SIZE = 16;
  private static final int DECIMAL_DIGITS = 38;
  private static final long EXACT_MAX = 1L << 53; // doubles have all whole numbers up to here
  private static final int[] WIDTHS = {1, 2, 4, 8, 4, 8, 2, 1, 4, 8, 8, 8, 8, 8, DECIMAL_SIZE, 4, 4, 4, 8, 8};
  private static final int FIRST_ROWS = 64;

  final String name;
  boolean isNullable;
  int type;
  int scale; // of a page of DECIMAL
  private boolean[] nulls = new boolean[FIRST_ROWS];
  private boolean hadNull; // in any row so far
  private boolean hasNulls; // in the rows of the page; C asks for it
  private long[] numbers = {};
  private Object[] objects = {};
  private int[] offsets = {0};
  private byte[] bytes = {};
  private Object misfit; // the value of the row after the last whole row that does not fit the type
  private boolean isSpilled; // the page is one row, whose text or bytes are too long for the answer
  private int wholeDigits; // of DECIMAL: the most digits before the point, and after it
  private int fractionDigits;

  Column(String name, int type, boolean isNullable) {
    this.name = name;
    this.type = type;
    this.isNullable = isNullable;
    setRoom(0);
  }

  // ---- writing a row ----

  private void setRoom(int row) {
    if (row >= nulls.length) {
      nulls = Arrays.copyOf(nulls, row * 2);
    }
    if (isObjects()) {
      if (row >= objects.length) {
        objects = Arrays.copyOf(objects, nulls.length);
      }
    } else if (isBytes()) {
      if (row + 1 >= offsets.length) {
        offsets = Arrays.copyOf(offsets, nulls.length + 1);
      }
    } else if (row >= numbers.length) {
      numbers = Arrays.copyOf(numbers, nulls.length);
    }
  }

  private boolean isObjects() {
    return type == OBJECT || type == UNKNOWN || type == DECIMAL;
  }

  boolean isBytes() {
    return type == STRING || type == BINARY || type == DECIMAL_TEXT;
  }

  void setNull(int row) {
    setRoom(row);
    nulls[row] = true;
    isNullable = true;
    hadNull = true;
    if (isObjects()) {
      objects[row] = null;
    } else if (isBytes()) {
      offsets[row + 1] = offsets[row];
    } else {
      numbers[row] = 0;
    }
  }

  /** A value of a type with a fixed width, as its bits. */
  void setNumber(int row, long bits) {
    setRoom(row);
    nulls[row] = false;
    numbers[row] = bits;
  }

  void setString(int row, String text) {
    setRoom(row);
    nulls[row] = false;
    int at = offsets[row];
    int length = text.length();
    reserve(at, length);
    int i = 0;
    byte[] into = bytes;
    for (; i < length; i++) {
      char unit = text.charAt(i);
      if (unit >= 0x80) {
        break;
      }
      into[at + i] = (byte) unit;
    }
    offsets[row + 1] = i == length ? at + length : encode(text, i, at + i);
  }

  /* A lone surrogate becomes U+FFFD; String.getBytes would make it a question mark. */
  private int encode(String text, int from, int start) {
    int at = start;
    int length = text.length();
    reserve(at, (length - from) * 3L);
    for (int i = from; i < length; i++) {
      int code = text.charAt(i);
      if (Character.isHighSurrogate((char) code) && i + 1 < length && Character.isLowSurrogate(text.charAt(i + 1))) {
        code = Character.toCodePoint((char) code, text.charAt(++i));
      } else if (Character.isSurrogate((char) code)) {
        code = 0xFFFD;
      }
      if (code < 0x80) {
        bytes[at++] = (byte) code;
        continue;
      }
      if (code < 0x800) {
        bytes[at++] = (byte) (0xC0 | code >> 6);
      } else {
        if (code < 0x10000) {
          bytes[at++] = (byte) (0xE0 | code >> 12);
        } else {
          bytes[at++] = (byte) (0xF0 | code >> 18);
          bytes[at++] = (byte) (0x80 | code >> 12 & 0x3F);
        }
        bytes[at++] = (byte) (0x80 | code >> 6 & 0x3F);
      }
      bytes[at++] = (byte) (0x80 | code & 0x3F);
    }
    return at;
  }

  void setBytes(int row, byte[] value) {
    setRoom(row);
    nulls[row] = false;
    int at = offsets[row];
    reserve(at, value.length);
    System.arraycopy(value, 0, bytes, at, value.length);
    offsets[row + 1] = at + value.length;
  }

  private void reserve(int at, long more) {
    long needed = at + more;
    if (needed > Integer.MAX_VALUE - 8) {
      throw new IllegalStateException("column " + name + ": a page of more than 2 GiB");
    }
    if (needed > bytes.length) {
      bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8, Math.max(64, needed + needed / 2)));
    }
  }

  /** Writes a value of any type. False: it does not fit the column's type, and is kept for the next page. */
  boolean set(int row, Object value) {
    if (value == null) {
      setNull(row);
      return true;
    }
    if (type == UNKNOWN && row == 0) {
      changeType(typeOf(value));
    } else if (type == UNKNOWN) {
      becomeKnown(row, typeOf(value));
    }
    if (write(row, value)) {
      return true;
    }
    misfit = value;
    return false;
  }

  /* The rows before are null. */
  private void becomeKnown(int row, int wanted) {
    changeType(wanted);
    for (int i = 0; i < row; i++) {
      setNull(i);
    }
  }

  private boolean write(int row, Object value) {
    switch (type) {
      case BYTE:
      case SHORT:
      case INT:
      case LONG:
        return isWhole(value) && wholeTypeOf(value) <= type && writeNumber(row, ((Number) value).longValue());
      case FLOAT:
        return value instanceof Float && writeNumber(row, Float.floatToRawIntBits((Float) value));
      case DOUBLE:
        return writeDouble(row, value);
      case CHAR:
        return value instanceof Character && writeNumber(row, (Character) value);
      case BOOLEAN:
        return value instanceof Boolean && writeNumber(row, (Boolean) value ? 1 : 0);
      case DATE:
        return writeDate(row, value);
      case TIME:
        return writeTime(row, value);
      case TIMESTAMP:
      case TIMESTAMP_NANOS:
        return writeTimestamp(row, value);
      case INSTANT:
      case INSTANT_NANOS:
        return value instanceof Instant && writeInstant(row, ((Instant) value).getEpochSecond(), ((Instant) value).getNano());
      case DECIMAL:
        return value instanceof BigDecimal && writeDecimal(row, (BigDecimal) value);
      case DECIMAL_TEXT:
        if (!(value instanceof BigDecimal)) {
          return false;
        }
        setString(row, value.toString());
        return true;
      case STRING:
        if (!(value instanceof String)) {
          return false;
        }
        setString(row, (String) value);
        return true;
      case BINARY:
        if (!(value instanceof byte[])) {
          return false;
        }
        setBytes(row, (byte[]) value);
        return true;
      default:
        setRoom(row);
        nulls[row] = false;
        objects[row] = value;
        return true;
    }
  }

  private boolean writeNumber(int row, long bits) {
    setNumber(row, bits);
    return true;
  }

  private boolean writeDouble(int row, Object value) {
    boolean fits = value instanceof Double || value instanceof Float
        || isWhole(value) && Math.abs(((Number) value).longValue()) <= EXACT_MAX && ((Number) value).longValue() != Long.MIN_VALUE;
    return fits && writeNumber(row, Double.doubleToRawLongBits(((Number) value).doubleValue()));
  }

  private boolean writeDate(int row, Object value) {
    if (!(value instanceof LocalDate)) {
      return false;
    }
    long days = ((LocalDate) value).toEpochDay();
    return days == (int) days && writeNumber(row, days);
  }

  private boolean writeTime(int row, Object value) {
    return value instanceof LocalTime && writeNumber(row, ((LocalTime) value).toNanoOfDay());
  }

  boolean writeTimestamp(int row, Object value) {
    if (!(value instanceof LocalDateTime)) {
      return false;
    }
    LocalDateTime time = (LocalDateTime) value;
    return writeInstant(row, time.toEpochSecond(ZoneOffset.UTC), time.getNano());
  }

  private boolean writeInstant(int row, long second, int nano) {
    boolean isNanos = type == TIMESTAMP_NANOS || type == INSTANT_NANOS;
    return fits(isNanos, second, nano) && writeNumber(row, isNanos ? second * 1_000_000_000 + nano : second * 1_000_000 + nano / 1000);
  }

  private static boolean fits(boolean isNanos, long second, int nano) {
    long most = Long.MAX_VALUE / (isNanos ? 1_000_000_000 : 1_000_000) - 1;
    return Math.abs(second) <= most && second != Long.MIN_VALUE && (isNanos || nano % 1000 == 0);
  }

  private boolean writeDecimal(int row, BigDecimal value) {
    if (value.getClass() != BigDecimal.class) {
      return false;
    }
    if (row == 0) {
      wholeDigits = 0;
      fractionDigits = 0;
    }
    // a value beyond a long's range has one of these beyond the limit, too
    long fraction = Math.max(0, (long) value.scale());
    long whole = Math.max(0, (long) value.precision() - value.scale());
    if (Math.max(whole, wholeDigits) + Math.max(fraction, fractionDigits) > DECIMAL_DIGITS) {
      return false;
    }
    wholeDigits = (int) Math.max(whole, wholeDigits);
    fractionDigits = (int) Math.max(fraction, fractionDigits);
    setRoom(row);
    nulls[row] = false;
    objects[row] = value;
    return true;
  }

  // ---- types ----

  private static boolean isWhole(Object value) {
    return value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte;
  }

  private static int wholeTypeOf(Object value) {
    return value instanceof Byte ? BYTE : value instanceof Short ? SHORT : value instanceof Integer ? INT : LONG;
  }

  private static int typeOf(Object value) {
    if (isWhole(value)) {
      return wholeTypeOf(value);
    }
    if (value instanceof LocalDateTime) {
      LocalDateTime time = (LocalDateTime) value;
      return timestampType(TIMESTAMP, time.toEpochSecond(ZoneOffset.UTC), time.getNano());
    }
    if (value instanceof Instant) {
      return timestampType(INSTANT, ((Instant) value).getEpochSecond(), ((Instant) value).getNano());
    }
    return value instanceof Double ? DOUBLE
        : value instanceof String ? STRING
        : value instanceof Boolean ? BOOLEAN
        : value instanceof LocalDate ? DATE
        : value instanceof LocalTime ? TIME
        : value.getClass() == BigDecimal.class ? DECIMAL
        : value instanceof byte[] ? BINARY
        : value instanceof Float ? FLOAT
        : value instanceof Character ? CHAR
        : OBJECT;
  }

  private static int timestampType(int micros, long second, int nano) {
    return fits(false, second, nano) ? micros : fits(true, second, nano) ? micros + 1 : OBJECT;
  }

  /** The type of a component that is declared so; UNKNOWN: its first value decides. */
  static int typeOfPrimitive(Class<?> declared) {
    return declared == int.class ? INT
        : declared == long.class ? LONG
        : declared == double.class ? DOUBLE
        : declared == boolean.class ? BOOLEAN
        : declared == byte.class ? BYTE
        : declared == short.class ? SHORT
        : declared == float.class ? FLOAT
        : declared == char.class ? CHAR
        : UNKNOWN;
  }

  /** Gives a column without a value so far the type that its rows declare. */
  void declare(int declared) {
    if (type == UNKNOWN && declared != UNKNOWN) {
      changeType(declared);
      isNullable = hadNull; // by a row that was null itself
    }
  }

  boolean hasMisfit() {
    return misfit != null;
  }

  void dropMisfit() {
    misfit = null;
  }

  /** Gives the column the type of the value that did not fit, or a wider type that has both; OBJECT has all. */
  void acceptMisfit() {
    Object value = misfit;
    misfit = null;
    int wanted = typeOf(value);
    int old = type;
    boolean bothWhole = old <= LONG && wanted <= LONG;
    boolean bothNumbers = old <= DOUBLE && wanted <= DOUBLE;
    changeType(bothWhole ? Math.max(old, wanted)
        : bothNumbers && !(old == DOUBLE && wanted <= LONG) ? DOUBLE
        : (old == TIMESTAMP || old == INSTANT) && wanted == old + 1 ? wanted
        : old == DECIMAL && wanted == DECIMAL ? DECIMAL_TEXT
        : OBJECT);
    if (!write(0, value)) {
      changeType(OBJECT);
      write(0, value);
    }
  }

  private void changeType(int wanted) {
    type = wanted;
    setRoom(nulls.length - 1);
  }

  // ---- pages ----

  /** Removes the first rows; the column has `stored` in all. */
  void discard(int rows, int stored) {
    if (isSpilled) {
      isSpilled = false;
      objects = new Object[0];
    }
    if (rows == 0) {
      return;
    }
    int left = stored - rows;
    if (isObjects()) {
      System.arraycopy(objects, rows, objects, 0, left);
      Arrays.fill(objects, left, Math.min(stored, objects.length), null);
      recountDigits(left);
    } else if (isBytes()) {
      int begin = offsets[rows];
      System.arraycopy(bytes, begin, bytes, 0, offsets[stored] - begin);
      for (int i = 0; i <= left; i++) {
        offsets[i] = offsets[rows + i] - begin;
      }
    } else {
      System.arraycopy(numbers, rows, numbers, 0, left);
    }
    System.arraycopy(nulls, rows, nulls, 0, left);
  }

  private void recountDigits(int rows) {
    if (type != DECIMAL) {
      return;
    }
    wholeDigits = 0;
    fractionDigits = 0;
    for (int i = 0; i < rows; i++) {
      if (objects[i] != null) {
        writeDecimal(i, (BigDecimal) objects[i]);
      }
    }
  }

  /** The bytes of a value of the type in a buffer. */
  static int widthOf(int type) {
    return WIDTHS[type];
  }

  /** The bytes of a row whatever its value. */
  int width() {
    return WIDTHS[isSpilled ? OBJECT : type];
  }

  /** The bytes of the texts or binaries of the first rows; 0 for other types. */
  long sizeOf(int rows) {
    return isBytes() && !isSpilled ? offsets[rows] : 0;
  }

  /** Sends the page's one row as an object. */
  void spill() {
    objects = new Object[nulls.length];
    byte[] value = Arrays.copyOf(bytes, offsets[1]);
    objects[0] = nulls[0] ? null : type == BINARY ? value
        : type == STRING ? new String(value, StandardCharsets.UTF_8)
        : new BigDecimal(new String(value, StandardCharsets.ISO_8859_1));
    isSpilled = true;
  }

  /** Completes a page of the first rows. Returns the type for C. */
  int finish(int rows) {
    hasNulls = false;
    for (int i = 0; i < rows && !hasNulls; i++) {
      hasNulls = nulls[i];
    }
    if (type == DECIMAL) {
      finishDecimals(rows);
    }
    return isSpilled || type == UNKNOWN ? OBJECT : type;
  }

  private void finishDecimals(int rows) {
    scale = 0;
    for (int i = 0; i < rows; i++) {
      if (objects[i] != null) {
        scale = Math.max(scale, ((BigDecimal) objects[i]).scale());
      }
    }
    bytes = new byte[rows * DECIMAL_SIZE];
    for (int i = 0; i < rows; i++) {
      if (objects[i] != null) {
        writeUnscaled(i * DECIMAL_SIZE, ((BigDecimal) objects[i]).setScale(scale).unscaledValue());
      }
    }
  }

  private void writeUnscaled(int at, BigInteger value) {
    long low = value.longValue();
    long high = value.bitLength() < Long.SIZE ? low >> 63 : value.shiftRight(Long.SIZE).longValue();
    for (int i = 0; i < Long.BYTES; i++) {
      bytes[at + i] = (byte) (low >> 8 * i);
      bytes[at + Long.BYTES + i] = (byte) (high >> 8 * i);
    }
  }
}
