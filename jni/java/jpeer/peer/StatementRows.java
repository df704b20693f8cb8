package jpeer.peer;

import java.math.BigDecimal;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.Set;

/**
 * Rows of jpeer.rows for a java.sql.PreparedStatement: the values of a row are the parameters, each row is added
 * to the batch, and the batch is executed after the last one. A class of its own, because a Java may have no
 * module java.sql.
 */
final class StatementRows {
  private static final String[][] SETTERS = {{"setByte", "(IB)V"}, {"setShort", "(IS)V"}, {"setInt", "(II)V"},
      {"setLong", "(IJ)V"}, {"setFloat", "(IF)V"}, {"setDouble", "(ID)V"}, {"setString", "(ILjava/lang/String;)V"},
      {"setBoolean", "(IZ)V"}, null, null, null, null, null, null, {"setBigDecimal", "(ILjava/math/BigDecimal;)V"},
      {"setBigDecimal", "(ILjava/math/BigDecimal;)V"}, {"setString", "(ILjava/lang/String;)V"}, {"setBytes", "(I[B)V"},
      null};
  private static final String[] OBJECT_SETTER = {"setObject", "(ILjava/lang/Object;)V"};
  private static final int[] SQL_TYPES = {Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT, Types.REAL,
      Types.DOUBLE, Types.CHAR, Types.BOOLEAN, Types.DATE, Types.TIME, Types.TIMESTAMP, Types.TIMESTAMP,
      Types.TIMESTAMP_WITH_TIMEZONE, Types.TIMESTAMP_WITH_TIMEZONE, Types.DECIMAL, Types.DECIMAL, Types.VARCHAR,
      Types.VARBINARY, Types.NULL};

  private final PreparedStatement statement;
  private final RowSink sink;
  private final int[] nullTypes; // of each column

  private StatementRows(PreparedStatement statement, RowSink sink, int columns) {
    this.statement = statement;
    this.sink = sink;
    nullTypes = new int[columns];
  }

  static boolean accepts(Object target) {
    return target instanceof PreparedStatement;
  }

  /** Returns the update counts. */
  static int[] write(Object target, SentColumn[] columns, int rows, RowSink sink) throws Throwable {
    StatementRows made = new StatementRows((PreparedStatement) target, sink, columns.length);
    made.ask(columns, rows);
    return rows == 0 ? new int[0] : made.run(columns, rows);
  }

  private void ask(Class<?> declaring, String name, String descriptor) {
    Rows.ask(statement.getClass(), declaring, name, descriptor);
  }

  private void ask(SentColumn[] columns, int rows) {
    ask(PreparedStatement.class, "addBatch", "()V");
    ask(Statement.class, "executeBatch", "()[I");
    Set<String> asked = new HashSet<>();
    for (int i = 0; i < columns.length; i++) {
      nullTypes[i] = SQL_TYPES[columns[i].type];
      String[] setter = SETTERS[columns[i].type] == null ? OBJECT_SETTER : SETTERS[columns[i].type];
      if (asked.add(setter[0])) {
        ask(PreparedStatement.class, setter[0], setter[1]);
      }
      if (columns[i].hasNulls(rows) && asked.add("setNull")) {
        ask(PreparedStatement.class, "setNull", "(II)V");
      }
    }
  }

  private int[] run(SentColumn[] columns, int rows) throws Throwable {
    try {
      for (int row = 0; row < rows; row++) {
        sink.row = row;
        for (int i = 0; i < columns.length; i++) {
          sink.column = i;
          if (columns[i].isNull(row)) {
            setNull(i);
          } else {
            set(columns[i], i + 1, row);
          }
        }
        sink.column = -1;
        statement.addBatch();
      }
    } catch (Throwable e) {
      clear();
      throw e;
    }
    sink.row = -1;
    return statement.executeBatch();
  }

  /* The rows before must not be executed with the next batch. */
  private void clear() {
    try {
      ask(Statement.class, "clearBatch", "()V");
      statement.clearBatch();
    } catch (Throwable e) {
      sink.isBatchLeft = true;
    }
  }

  private void setNull(int i) throws SQLException {
    if (nullTypes[i] != Types.NULL) {
      statement.setNull(i + 1, nullTypes[i]);
      return;
    }
    try {
      statement.setNull(i + 1, Types.NULL);
    } catch (SQLException e) { // the driver wants the parameter's type
      nullTypes[i] = parameterType(i, e);
      statement.setNull(i + 1, nullTypes[i]);
    }
  }

  private int parameterType(int i, SQLException refused) throws SQLException {
    try {
      ask(PreparedStatement.class, "getParameterMetaData", "()Ljava/sql/ParameterMetaData;");
      ParameterMetaData metadata = statement.getParameterMetaData();
      if (metadata == null) {
        throw refused;
      }
      Rows.ask(metadata.getClass(), ParameterMetaData.class, "getParameterType", "(I)I");
      return metadata.getParameterType(i + 1);
    } catch (Exception | Error e) {
      throw refused;
    }
  }

  private void set(SentColumn column, int index, int row) throws SQLException, BadColumns {
    switch (column.type) {
      case Column.BYTE:
        statement.setByte(index, column.getByte(row));
        break;
      case Column.SHORT:
        statement.setShort(index, column.getShort(row));
        break;
      case Column.INT:
        statement.setInt(index, column.getInt(row));
        break;
      case Column.LONG:
        statement.setLong(index, column.getLong(row));
        break;
      case Column.FLOAT:
        statement.setFloat(index, column.getFloat(row));
        break;
      case Column.DOUBLE:
        statement.setDouble(index, column.getDouble(row));
        break;
      case Column.CHAR:
        statement.setString(index, column.get(row).toString());
        break;
      case Column.BOOLEAN:
        statement.setBoolean(index, column.getBoolean(row));
        break;
      case Column.INSTANT:
      case Column.INSTANT_NANOS: // JDBC has no Instant
        statement.setObject(index, ((Instant) column.get(row)).atOffset(ZoneOffset.UTC));
        break;
      case Column.DECIMAL:
      case Column.DECIMAL_TEXT:
        statement.setBigDecimal(index, (BigDecimal) column.get(row));
        break;
      case Column.STRING:
        statement.setString(index, column.text(row));
        break;
      case Column.BINARY:
        statement.setBytes(index, column.bytes(row));
        break;
      default:
        statement.setObject(index, column.get(row));
    }
  }
}
