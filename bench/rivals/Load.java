import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One measurement by a client in Java: calls that are not measured, then calls for some seconds. The figures
 * have the same names and meanings as in jpeer-bench. The process makes many measurements, so that its code
 * is compiled.
 */
final class Load {
  private static final double TICKS_PER_SECOND = 100; // the unit of /proc/PID/stat

  /** How a kind of client makes calls. */
  interface Protocol {
    /** Keeps the load's lanes busy, spread over the given number of connections, until each has to stop. */
    void run(Load load, int connections) throws Exception;
  }

  /** A sequence of calls, one after the other. Used by one thread at a time. */
  final class Lane {
    int a;
    int b;
    private final Histogram latencies = new Histogram();
    private long id;
    private long since = System.nanoTime();
    private boolean isFirst = true;

    private Lane(long number) {
      id = number * 1_000_000_000;
      next();
    }

    private void next() {
      id++;
      a = (int) (id % 100_000);
      b = (int) (id * 7 % 100_000);
    }

    /** Handles the answer to the call of a and b; false: no further call. */
    boolean answered(int sum) {
      long now = System.nanoTime();
      if (sum != a + b) {
        fail(new IllegalStateException(a + " + " + b + " was answered with " + sum));
        return false;
      }
      if (measures) {
        latencies.record(now - since);
      } else {
        warm(now, isFirst);
      }
      isFirst = false;
      since = now;
      next();
      return now < ends && failure == null;
    }
  }

  private final long warmUp;
  private final long nanoseconds;
  private final String pid;
  private final List<Lane> lanes = new ArrayList<>();
  private final AtomicLong answers = new AtomicLong(); // answers before measuring began
  private final AtomicInteger connected = new AtomicInteger(); // lanes that have received an answer
  private final AtomicBoolean begun = new AtomicBoolean();
  private volatile boolean measures;
  private volatile long ends = Long.MAX_VALUE;
  private volatile Throwable failure;
  private long begins;
  private double serverSeconds;

  private Load(long warmUp, double seconds, String pid, int laneCount) {
    for (int i = 1; i <= laneCount; i++) {
      lanes.add(new Lane(i));
    }
    this.warmUp = warmUp;
    this.nanoseconds = (long) (seconds * 1e9);
    this.pid = pid;
  }

  /** Returns a lane for each call in flight. The lanes of the first connection come first. */
  List<Lane> lanes() {
    return lanes;
  }

  /** Ends the measurement, and the client. */
  void fail(Throwable thrown) {
    failure = thrown;
  }

  /** The measurement begins when the warm-up has ended and every lane has received an answer (and so is
   * connected). */
  private void warm(long now, boolean isFirst) {
    boolean isWarm = answers.incrementAndGet() >= warmUp;
    int count = isFirst ? connected.incrementAndGet() : connected.get();
    if (isWarm && count == lanes.size() && begun.compareAndSet(false, true)) {
      begin(now);
    }
  }

  private void begin(long now) {
    begins = now;
    serverSeconds = -processorSeconds();
    ends = now + nanoseconds;
    measures = true;
  }

  private double processorSeconds() {
    try {
      String stat = Files.readString(Path.of("/proc", pid, "stat"));
      String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
      return (Long.parseLong(words[11]) + Long.parseLong(words[12])) / TICKS_PER_SECOND; // utime, stime
    } catch (IOException gone) {
      throw new IllegalStateException(gone);
    }
  }

  private String figures() {
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
    serverSeconds += processorSeconds();
    Histogram all = new Histogram();
    long last = begins;
    for (Lane lane : lanes) {
      all.add(lane.latencies);
      last = Math.max(last, lane.since);
    }
    double seconds = (last - begins) / 1e9;
    return String.format(Locale.ROOT,
        "{\"calls\":%d,\"seconds\":%.6f,\"calls_per_second\":%.1f,\"p50_us\":%.3f,\"p99_us\":%.3f,"
            + "\"p999_us\":%.3f,\"max_us\":%.3f,\"server_us_per_call\":%.4f}",
        all.total(), seconds, all.total() / seconds, all.quantile(0.5) / 1e3, all.quantile(0.99) / 1e3,
        all.quantile(0.999) / 1e3, all.max() / 1e3, serverSeconds * 1e6 / all.total());
  }

  /** A measurement for each line "CONNECTIONS IN_FLIGHT WARM_UP SECONDS" of the input, answered with its figures. */
  static void serve(Protocol protocol, String pid) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      int connections = Integer.parseInt(words[0]);
      int inFlight = Integer.parseInt(words[1]);
      Load load = new Load(Long.parseLong(words[2]), Double.parseDouble(words[3]), pid, connections * inFlight);
      protocol.run(load, connections);
      System.out.println(load.figures());
    }
    System.exit(0);
  }
}
