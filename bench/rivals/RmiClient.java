import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The load for RMI. Its calls block, so each call in flight has a thread. RMI gives each thread a connection
 * of its own: C connections with I calls in flight each are C times I connections here.
 */
public final class RmiClient {
  private RmiClient() {}

  private static RmiCalculator stubOf(String address) throws IOException, ClassNotFoundException {
    byte[] bytes = Base64.getDecoder().decode(address.substring("rmi://".length()));
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
      return (RmiCalculator) in.readObject();
    }
  }

  private static Void drive(RmiCalculator calculator, Load.Lane lane) throws IOException {
    boolean goesOn = true;
    while (goesOn) {
      goesOn = lane.answered(calculator.add(lane.a, lane.b));
    }
    return null;
  }

  private static void run(RmiCalculator calculator, Load load) throws InterruptedException, ExecutionException {
    ExecutorService threads = Executors.newFixedThreadPool(load.lanes().size());
    List<Future<Void>> driven = new ArrayList<>();
    for (Load.Lane lane : load.lanes()) {
      driven.add(threads.submit(() -> drive(calculator, lane)));
    }
    for (Future<Void> each : driven) {
      each.get();
    }
    threads.shutdown();
  }

  public static void main(String[] arguments) throws Exception {
    RmiCalculator calculator = stubOf(arguments[0]);
    Load.serve((load, connections) -> run(calculator, load), arguments[1]);
  }
}
