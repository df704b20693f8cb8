import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

/** TableAlone ROWS ROUNDS CREATE QUERY: a program in Java that reads a query of H2 into arrays. Prints ms for each round. */
public final class TableAlone {
  private TableAlone() {
  }

  public static void main(String[] words) throws Exception {
    int rows = Integer.parseInt(words[0]);
    try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:bench;OPTIMIZE_REUSE_RESULTS=0");
        Statement statement = connection.createStatement()) {
      statement.execute(words[2]);
      for (int round = 0; round < Integer.parseInt(words[1]); round++) {
        long began = System.nanoTime();
        int[] ints = new int[rows];
        long[] longs = new long[rows];
        double[] doubles = new double[rows];
        String[] texts = new String[rows];
        long[] times = new long[rows];
        boolean[][] nulls = new boolean[5][rows];
        int row = 0;
        try (ResultSet results = statement.executeQuery(words[3])) {
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
        if (row != rows) {
          throw new IllegalStateException(row + " rows");
        }
        System.out.println((System.nanoTime() - began) / 1e6);
      }
    }
  }
}
