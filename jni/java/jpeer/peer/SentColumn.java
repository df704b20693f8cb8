package jpeer.peer;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;

/** A column of jpeer.rows: the buffers of the client, in the layout of Apache Arrow, with the types of Column. */
final class SentColumn {
  private static final long MICROS = 1_000_000;
  private static final long NANOS = 1_000_000_000;

  final String name; // null: the client gives none
  final int type;
  private final int scale;
  private final ByteBuffer data; // null: the values are objects
  private final ByteBuffer offsets; // null: the type has none
  private final byte[] valid; // null: no value is null
  private final Object[] objects;
  private final int digitsMax; // of a decimal that is a text, with the exponent written out

  private SentColumn(String name, int type, int scale, byte[] data, byte[] offsets, byte[] valid, Object[] objects,
      int digitsMax) {
    this.name = name;
    this.type = type;
    this.scale = scale;
    this.data = data == null ? null : ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
    this.offsets = offsets == null ? null : ByteBuffer.wrap(offsets).order(ByteOrder.LITTLE_ENDIAN);
    this.valid = valid;
    this.objects = objects;
    this.digitsMax = digitsMax;
  }

  boolean hasOffsets() {
    return type == Column.STRING || type == Column.BINARY || type == Column.DECIMAL_TEXT;
  }

  /** Checks that the buffers have exactly these rows, so that no row is read beyond them. */
  void check(int rows) throws BadColumns {
    if (type == Column.OBJECT) {
      checkLength("elements in 'data'", objects.length, rows);
    } else if (hasOffsets()) {
      checkLength("bytes in 'offsets'", offsets.capacity(), 4L * (rows + 1L));
      checkOffsets(rows);
    } else {
      checkLength("bytes in 'data'", data.capacity(),
          type == Column.BOOLEAN ? (rows + 7L) / 8 : (long) rows * Column.widthOf(type));
    }
    if (valid != null) {
      checkLength("bytes in 'valid'", valid.length, (rows + 7L) / 8);
    }
  }

  private static void checkLength(String what, long has, long wanted) throws BadColumns {
    if (has != wanted) {
      throw new BadColumns(has + " " + what + ", not " + wanted);
    }
  }

  private void checkOffsets(int rows) throws BadColumns {
    int last = offsets.getInt(0);
    if (last < 0) {
      throw new BadColumns("the first of the 'offsets' is " + last);
    }
    int first = last;
    for (int row = 0; row < rows; row++) {
      int next = offsets.getInt(4 * (row + 1));
      if (next < last) {
        throw new BadColumns("row " + row + ": the 'offsets' decrease from " + last + " to " + next);
      }
      last = next;
    }
    checkLength("bytes in 'data'", data.capacity(), last - first);
  }

  private int offset(int row) {
    return offsets.getInt(4 * row) - offsets.getInt(0);
  }

  boolean hasNulls(int rows) {
    for (int row = 0; row < rows; row++) {
      if (isNull(row)) {
        return true;
      }
    }
    return false;
  }

  boolean isNull(int row) {
    return type == Column.OBJECT ? objects[row] == null : valid != null && (valid[row >> 3] >> (row & 7) & 1) == 0;
  }

  byte getByte(int row) {
    return data.get(row);
  }

  short getShort(int row) {
    return data.getShort(2 * row);
  }

  int getInt(int row) {
    return data.getInt(4 * row);
  }

  long getLong(int row) {
    return data.getLong(8 * row);
  }

  float getFloat(int row) {
    return data.getFloat(4 * row);
  }

  double getDouble(int row) {
    return data.getDouble(8 * row);
  }

  boolean getBoolean(int row) {
    return (data.get(row >> 3) >> (row & 7) & 1) != 0;
  }

  /** The value of a row that is not null, as jpeer.columns reads it from an object. */
  Object get(int row) throws BadColumns {
    switch (type) {
      case Column.BYTE:
        return getByte(row);
      case Column.SHORT:
        return getShort(row);
      case Column.INT:
        return getInt(row);
      case Column.LONG:
        return getLong(row);
      case Column.FLOAT:
        return getFloat(row);
      case Column.DOUBLE:
        return getDouble(row);
      case Column.CHAR:
        return (char) getShort(row);
      case Column.BOOLEAN:
        return getBoolean(row);
      case Column.DATE:
        return LocalDate.ofEpochDay(getInt(row));
      case Column.TIME:
        return time(getLong(row));
      case Column.TIMESTAMP:
        return timestamp(getLong(row), MICROS);
      case Column.TIMESTAMP_NANOS:
        return timestamp(getLong(row), NANOS);
      case Column.INSTANT:
        return instant(getLong(row), MICROS);
      case Column.INSTANT_NANOS:
        return instant(getLong(row), NANOS);
      case Column.DECIMAL:
        return new BigDecimal(unscaled(Column.DECIMAL_SIZE * row), scale);
      case Column.DECIMAL_TEXT:
        return decimal(text(row));
      case Column.STRING:
        return text(row);
      case Column.BINARY:
        return bytes(row);
      default:
        return objects[row];
    }
  }

  private static LocalTime time(long nanoOfDay) throws BadColumns {
    try {
      return LocalTime.ofNanoOfDay(nanoOfDay);
    } catch (DateTimeException e) {
      throw new BadColumns(nanoOfDay + " is no nanosecond of a day");
    }
  }

  private static LocalDateTime timestamp(long units, long second) {
    return LocalDateTime.ofEpochSecond(Math.floorDiv(units, second), (int) (Math.floorMod(units, second) * (NANOS / second)),
        ZoneOffset.UTC);
  }

  private static Instant instant(long units, long second) {
    return Instant.ofEpochSecond(Math.floorDiv(units, second), Math.floorMod(units, second) * (NANOS / second));
  }

  private BigInteger unscaled(int at) {
    long low = data.getLong(at);
    long high = data.getLong(at + 8);
    if (high == low >> 63) {
      return BigInteger.valueOf(low);
    }
    byte[] bytes = new byte[Column.DECIMAL_SIZE];
    ByteBuffer.wrap(bytes).putLong(high).putLong(low);
    return new BigInteger(bytes);
  }

  private BigDecimal decimal(String text) throws BadColumns {
    if (text.length() > digitsMax) {
      throw new BadColumns("a decimal has more than " + digitsMax + " digits");
    }
    try {
      BigDecimal value = new BigDecimal(text);
      if (value.precision() + Math.abs((long) value.scale()) > digitsMax) {
        throw new BadColumns("a decimal has more than " + digitsMax + " digits");
      }
      return value;
    } catch (NumberFormatException e) {
      throw new BadColumns("'" + (text.length() > 40 ? text.substring(0, 40) + "..." : text) + "' is no decimal");
    }
  }

  String text(int row) throws BadColumns {
    int at = offset(row);
    int length = offset(row + 1) - at;
    String text = new String(data.array(), at, length, StandardCharsets.UTF_8);
    // the constructor replaces bytes that are no UTF-8
    if (text.indexOf('\uFFFD') >= 0) {
      try {
        StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data.array(), at, length));
      } catch (CharacterCodingException e) {
        throw new BadColumns("the text is not UTF-8");
      }
    }
    return text;
  }

  byte[] bytes(int row) {
    int at = offset(row);
    byte[] value = new byte[offset(row + 1) - at];
    System.arraycopy(data.array(), at, value, 0, value.length);
    return value;
  }
}
