package jpeer.peer;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.util.HashSet;
import java.util.Set;

/**
 * The rows of a java.sql.ResultSet. Each column is read by the getter of its type, once a row and from left to
 * right, because some drivers allow no other order. The types come from the metadata; a driver whose values do
 * not keep to them (SQLite) is read by getObject, and the values decide.
 */
final class ResultSetRows extends Rows {
  private static final int COLUMNS_MAX = 65536;
  private static final String ANY = "(I)Ljava/lang/Object;";
  private static final String TYPED = "(ILjava/lang/Class;)Ljava/lang/Object;";

  /* How a column is read. */
  private static final int OFFSET = 20; // getObject with OffsetDateTime, for an INSTANT
  private static final int BY_OBJECT = 21; // getObject, and the values decide about the type
  private static final int UNSIGNED_LONG = 22; // getBigDecimal
  private static final int OFFSET_TIME = 23; // getObject with OffsetTime
  private static final int DECIMAL_OR_NAN = 24; // getObject: PostgreSQL's numeric may be NaN, which is a Double
  private static final int DURATION = 25; // getString: MariaDB's TIME may be negative, and have more hours than a day
  private static final int DURATION_BYTES = 27; // getBytes: the same of MySQL, whose driver loses signs and days
  private static final int FLAG = 26; // getInt: a TINYINT(1) of MariaDB and MySQL may have other numbers than 0 and 1

  private final ResultSet results;
  private int[] indexes;
  private int[] readers;
  private String[] getters; // name and descriptor for each column
  private String[] descriptors;

  ResultSetRows(ResultSet results) {
    this.results = results;
  }

  static Rows of(Object source) {
    return source instanceof ResultSet ? new ResultSetRows((ResultSet) source) : null;
  }

  private void ask(String name, String descriptor) {
    ask(results.getClass(), ResultSet.class, name, descriptor);
  }

  @Override
  void begin(String[] paths) throws SQLException, BadColumns {
    ask("next", "()Z");
    ask("wasNull", "()Z");
    if (readers == null) {
      ask("getMetaData", "()Ljava/sql/ResultSetMetaData;");
      open(results.getMetaData(), paths);
    }
    Set<String> asked = new HashSet<>();
    for (int i = 0; i < getters.length; i++) {
      if (asked.add(getters[i] + descriptors[i])) {
        ask(getters[i], descriptors[i]);
      }
    }
  }

  private void open(ResultSetMetaData metadata, String[] paths) throws SQLException, BadColumns {
    if (metadata == null) {
      throw new BadColumns("the ResultSet has no metadata");
    }
    Class<?> own = metadata.getClass();
    for (String[] member : new String[][] {{"getColumnCount", "()I"}, {"getColumnLabel", "(I)Ljava/lang/String;"},
        {"getColumnType", "(I)I"}, {"getColumnTypeName", "(I)Ljava/lang/String;"},
        {"getColumnClassName", "(I)Ljava/lang/String;"}, {"getPrecision", "(I)I"}, {"getScale", "(I)I"},
        {"isNullable", "(I)I"}, {"isSigned", "(I)Z"}}) {
      ask(own, ResultSetMetaData.class, member[0], member[1]);
    }
    int count = metadata.getColumnCount();
    if (count < 0 || count > COLUMNS_MAX) {
      throw new BadColumns("the metadata of the ResultSet says that it has " + count + " columns");
    }
    String[] labels = new String[count];
    for (int i = 0; i < count; i++) {
      String label = metadata.getColumnLabel(i + 1);
      labels[i] = label == null ? "" : label;
    }
    int[] chosen = choose(labels, paths);
    Column[] made = new Column[chosen.length];
    int[] kinds = new int[chosen.length];
    getters = new String[chosen.length];
    descriptors = new String[chosen.length];
    String driver = results.getClass().getName();
    boolean isDynamic = driver.startsWith("org.sqlite.");
    for (int i = 0; i < chosen.length; i++) {
      kinds[i] = isDynamic ? BY_OBJECT : readerOf(metadata, chosen[i] + 1);
      if (driver.startsWith("org.postgresql.")) {
        kinds[i] = ofPostgreSql(kinds[i], metadata, chosen[i] + 1);
      } else if (driver.startsWith("org.mariadb.")) {
        kinds[i] = ofMariaDb(kinds[i], metadata, chosen[i] + 1);
      } else if (driver.startsWith("com.mysql.")) {
        kinds[i] = kinds[i] == Column.TIME ? DURATION_BYTES : kinds[i] == Column.BOOLEAN ? FLAG : kinds[i];
      }
      made[i] = new Column(labels[chosen[i]], typeOf(kinds[i], metadata, chosen[i] + 1),
          metadata.isNullable(chosen[i] + 1) != ResultSetMetaData.columnNoNulls);
      nameGetter(i, kinds[i]);
    }
    indexes = chosen;
    columns = made;
    readers = kinds;
  }

  private static int[] choose(String[] labels, String[] paths) throws BadColumns {
    int[] chosen = new int[paths == null ? labels.length : paths.length];
    for (int i = 0; i < chosen.length; i++) {
      chosen[i] = paths == null ? i : find(labels, paths[i]);
    }
    return chosen;
  }

  /* As in SQL, the case of a label counts only where two labels differ in nothing else. */
  private static int find(String[] labels, String path) throws BadColumns {
    int found = -1;
    for (int i = 0; i < labels.length; i++) {
      if (labels[i].equals(path)) {
        return i;
      }
      if (labels[i].equalsIgnoreCase(path)) {
        found = i;
      }
    }
    if (found < 0) {
      throw new BadColumns("the ResultSet has no column '" + path + "'; it has " + String.join(", ", labels));
    }
    return found;
  }

  private static int readerOf(ResultSetMetaData metadata, int index) throws SQLException {
    int type = metadata.getColumnType(index);
    boolean isSigned = type != Types.TINYINT && type != Types.SMALLINT && type != Types.INTEGER && type != Types.BIGINT
        || metadata.isSigned(index);
    switch (type) {
      case Types.TINYINT:
        return isSigned ? Column.BYTE : Column.SHORT;
      case Types.SMALLINT:
        return isSigned ? Column.SHORT : Column.INT;
      case Types.INTEGER:
        return isSigned ? Column.INT : Column.LONG;
      case Types.BIGINT:
        return isSigned ? Column.LONG : UNSIGNED_LONG;
      case Types.REAL:
        return Column.FLOAT;
      case Types.FLOAT:
      case Types.DOUBLE:
        // PostgreSQL's driver reads money as a number only up to 999
        return "money".equals(metadata.getColumnTypeName(index)) ? Column.STRING : Column.DOUBLE;
      case Types.BIT:
        return metadata.getPrecision(index) > 1 ? BY_OBJECT : Column.BOOLEAN;
      case Types.BOOLEAN:
        return Column.BOOLEAN;
      case Types.DECIMAL:
      case Types.NUMERIC:
        return Column.DECIMAL;
      case Types.CHAR:
      case Types.VARCHAR:
      case Types.LONGVARCHAR:
      case Types.NCHAR:
      case Types.NVARCHAR:
      case Types.LONGNVARCHAR:
      case Types.CLOB:
      case Types.NCLOB:
      case Types.SQLXML:
        return Column.STRING;
      case Types.BINARY:
      case Types.VARBINARY:
      case Types.LONGVARBINARY:
      case Types.BLOB:
        return "java.util.UUID".equals(metadata.getColumnClassName(index)) ? BY_OBJECT : Column.BINARY;
      case Types.DATE:
        return Column.DATE;
      case Types.TIME:
        return "timetz".equalsIgnoreCase(metadata.getColumnTypeName(index)) ? OFFSET_TIME : Column.TIME;
      case Types.TIME_WITH_TIMEZONE:
        return OFFSET_TIME;
      case Types.TIMESTAMP:
        return "timestamptz".equalsIgnoreCase(metadata.getColumnTypeName(index)) ? OFFSET : Column.TIMESTAMP;
      case Types.TIMESTAMP_WITH_TIMEZONE:
        return OFFSET;
      default:
        return BY_OBJECT;
    }
  }

  private static int ofPostgreSql(int reader, ResultSetMetaData metadata, int index) throws SQLException {
    // the precision of bits is not known in a literal and in an array: the driver reads only one bit as a boolean
    boolean isBits = metadata.getColumnType(index) == Types.BIT && metadata.getPrecision(index) != 1
        && "bit".equals(metadata.getColumnTypeName(index));
    return reader == Column.DECIMAL ? DECIMAL_OR_NAN : isBits ? Column.STRING : reader;
  }

  private static int ofMariaDb(int reader, ResultSetMetaData metadata, int index) throws SQLException {
    boolean isNumber = reader == Column.BOOLEAN && "BOOLEAN".equals(metadata.getColumnTypeName(index));
    return reader == Column.TIME ? DURATION : isNumber ? FLAG : reader;
  }

  private static int typeOf(int reader, ResultSetMetaData metadata, int index) throws SQLException {
    boolean isFine = (reader == Column.TIMESTAMP || reader == OFFSET) && metadata.getScale(index) > 6;
    return reader == BY_OBJECT || reader == OFFSET_TIME || reader == DURATION || reader == DURATION_BYTES
        ? Column.UNKNOWN
        : reader == UNSIGNED_LONG || reader == DECIMAL_OR_NAN ? Column.DECIMAL
        : reader == FLAG ? Column.BOOLEAN
        : (reader == OFFSET ? Column.INSTANT : reader) + (isFine ? 1 : 0);
  }

  private void nameGetter(int i, int reader) {
    String[][] named = {{"getByte", "(I)B"}, {"getShort", "(I)S"}, {"getInt", "(I)I"}, {"getLong", "(I)J"},
        {"getFloat", "(I)F"}, {"getDouble", "(I)D"}, null, {"getBoolean", "(I)Z"}, {"getObject", TYPED},
        {"getObject", TYPED}, {"getObject", TYPED}, null, null, null, {"getBigDecimal", "(I)Ljava/math/BigDecimal;"},
        null, {"getString", "(I)Ljava/lang/String;"}, {"getBytes", "(I)[B"}, null, null, {"getObject", TYPED},
        {"getObject", ANY}, {"getBigDecimal", "(I)Ljava/math/BigDecimal;"},
        {"getObject", TYPED}, {"getObject", ANY}, {"getString", "(I)Ljava/lang/String;"}, {"getInt", "(I)I"}, {"getBytes", "(I)[B"}};
    getters[i] = named[reader][0];
    descriptors[i] = named[reader][1];
  }

  @Override
  boolean next() throws SQLException {
    return results.next();
  }

  @Override
  boolean read(int row) throws SQLException {
    boolean fits = true;
    Column[] all = columns;
    for (int i = 0; i < all.length; i++) {
      fits &= read(all[i], readers[i], indexes[i] + 1, row);
    }
    return fits;
  }

  private boolean read(Column column, int reader, int index, int row) throws SQLException {
    switch (reader) {
      case Column.BYTE:
        return number(column, row, results.getByte(index));
      case Column.SHORT:
        return number(column, row, results.getShort(index));
      case Column.INT:
        return number(column, row, results.getInt(index));
      case Column.LONG:
        return number(column, row, results.getLong(index));
      case Column.FLOAT:
        return number(column, row, Float.floatToRawIntBits(results.getFloat(index)));
      case Column.DOUBLE:
        return number(column, row, Double.doubleToRawLongBits(results.getDouble(index)));
      case Column.BOOLEAN:
        return number(column, row, results.getBoolean(index) ? 1 : 0);
      case Column.DECIMAL:
      case UNSIGNED_LONG:
        return column.set(row, results.getBigDecimal(index));
      case Column.STRING:
        return column.set(row, results.getString(index));
      case Column.BINARY:
        return column.set(row, results.getBytes(index));
      case Column.DATE:
        return column.set(row, results.getObject(index, LocalDate.class));
      case Column.TIME:
        return column.set(row, results.getObject(index, LocalTime.class));
      case Column.TIMESTAMP:
        return column.set(row, results.getObject(index, LocalDateTime.class));
      case OFFSET: {
        OffsetDateTime time = results.getObject(index, OffsetDateTime.class);
        return column.set(row, time == null ? null : time.toInstant());
      }
      case OFFSET_TIME:
        return column.set(row, results.getObject(index, OffsetTime.class));
      case DURATION:
        return column.set(row, duration(results.getString(index)));
      case DURATION_BYTES:
        return column.set(row, duration(results.getBytes(index)));
      case FLAG:
        return flag(column, row, results.getInt(index));
      default:
        return column.set(row, modern(results.getObject(index)));
    }
  }

  private boolean number(Column column, int row, long bits) throws SQLException {
    if (results.wasNull()) {
      column.setNull(row);
    } else {
      column.setNumber(row, bits);
    }
    return true;
  }

  private boolean flag(Column column, int row, int value) throws SQLException {
    return column.set(row, results.wasNull() ? null : value == 0 || value == 1 ? (Object) (value == 1) : (Object) value);
  }

  /* The driver's own Duration is wrong for a negative time with a fraction. */
  private static Duration duration(String text) {
    if (text == null) {
      return null;
    }
    boolean isNegative = text.startsWith("-");
    String[] parts = text.substring(isNegative ? 1 : 0).split(":");
    Duration made = Duration.ofHours(Long.parseLong(parts[0])).plusMinutes(Long.parseLong(parts[1]))
        .plusNanos(new BigDecimal(parts[2]).movePointRight(9).longValueExact());
    return isNegative ? made.negated() : made;
  }

  /* A text, or the binary form of MySQL's protocol: sign, days, hours, minutes, seconds, and microseconds if any. */
  private static Duration duration(byte[] value) {
    if (value == null || value.length > 0 && value[0] > 1) {
      return value == null ? null : duration(new String(value, StandardCharsets.US_ASCII));
    }
    if (value.length == 0) {
      return Duration.ZERO;
    }
    ByteBuffer in = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
    boolean isNegative = in.get() == 1;
    Duration made = Duration.ofDays(in.getInt()).plusHours(in.get()).plusMinutes(in.get()).plusSeconds(in.get());
    made = in.hasRemaining() ? made.plusNanos(in.getInt() * 1000L) : made;
    return isNegative ? made.negated() : made;
  }

  /** The value of java.time for a value of java.sql. Calls no method of a subclass. */
  static Object modern(Object value) {
    Class<?> own = value == null ? null : value.getClass();
    return own == Timestamp.class ? ((Timestamp) value).toLocalDateTime()
        : own == Date.class ? ((Date) value).toLocalDate()
        : own == Time.class ? ((Time) value).toLocalTime()
        : value;
  }
}
