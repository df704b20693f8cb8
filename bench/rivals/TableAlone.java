import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

/**
 * TableAlone ROWS SENT CREATE QUERY TARGET INSERT: a program in Java that reads a query of H2 into arrays, and inserts rows by
 * batches. For each line of its input, "read" or "insert", it prints the ms.
 */
public final class TableAlone {
  private static final int BATCH = 32768;

  private TableAlone() {
  }

  public static void main(String[] words) throws Exception {
    int rows = Integer.parseInt(words[0]);
    int sent = Integer.parseInt(words[1]);
    try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:bench;OPTIMIZE_REUSE_RESULTS=0");
        Statement statement = connection.createStatement();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
      statement.execute(words[2]);
      statement.execute(words[4]);
      Rows given = new Rows(sent);
      for (String line = input.readLine(); line != null; line = input.readLine()) {
        if (line.equals("insert")) {
          statement.execute("truncate table sent_of_bench");
        }
        long began = System.nanoTime();
        int count = line.equals("read") ? read(statement, words[3], rows) : insert(connection, words[5], given);
        System.out.println((System.nanoTime() - began) / 1e6);
        if (count != (line.equals("read") ? rows : sent)) {
          throw new IllegalStateException(count + " rows");
        }
      }
    }
  }

  private static int read(Statement statement, String query, int rows) throws Exception {
    int[] ints = new int[rows];
    long[] longs = new long[rows];
    double[] doubles = new double[rows];
    String[] texts = new String[rows];
    long[] times = new long[rows];
    boolean[][] nulls = new boolean[5][rows];
    int row = 0;
    try (ResultSet results = statement.executeQuery(query)) {
      for (; results.next(); row++) {
        ints[row] = results.getInt(1);
        nulls[0][row] = results.wasNull();
        longs[row] = results.getLong(2);
        nulls[1][row] = results.wasNull();
        doubles[row] = results.getDouble(3);
        nulls[2][row] = results.wasNull();
        texts[row] = results.getString(4);
        LocalDateTime time = results.getObject(5, LocalDateTime.class);
        nulls[4][row] = time == null;
        if (time != null) {
          times[row] = time.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + time.getNano() / 1000;
        }
      }
    }
    return row;
  }

  private static final class Rows {
    final int[] ints;
    final long[] longs;
    final double[] doubles;
    final String[] texts;
    final Timestamp[] times;

    Rows(int count) {
      ints = new int[count];
      longs = new long[count];
      doubles = new double[count];
      texts = new String[count];
      times = new Timestamp[count];
      for (int i = 0; i < count; i++) {
        ints[i] = i;
        longs[i] = i * 1000L;
        doubles[i] = i / 3.0;
        texts[i] = "abcdefghijklmno" + i % 10000;
        times[i] = Timestamp.valueOf(LocalDateTime.of(2024, 1, 1, 0, 0).plusSeconds(i));
      }
    }
  }

  private static int insert(Connection connection, String insert, Rows rows) throws Exception {
    int count = 0;
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      for (int i = 0; i < rows.ints.length; i++) {
        statement.setInt(1, rows.ints[i]);
        statement.setLong(2, rows.longs[i]);
        statement.setDouble(3, rows.doubles[i]);
        statement.setString(4, rows.texts[i]);
        statement.setTimestamp(5, rows.times[i]);
        statement.addBatch();
        if ((i + 1) % BATCH == 0 || i + 1 == rows.ints.length) {
          for (int each : statement.executeBatch()) {
            count += each;
          }
        }
      }
    }
    return count;
  }
}
