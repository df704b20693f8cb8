package shop;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** Prices and their listeners: the entry point of a program for Py4J. */
public final class Exchange {
  /** A client's object. */
  public interface Listener {
    void priceChanged(Exchange exchange, String name, long cents);

    /** Cents to add, or null for no fee. */
    default Long feeFor(String name) {
      return null;
    }
  }

  /** The client has not accepted a price. */
  public static final class RefusedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    RefusedException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  private final List<Listener> listeners = new CopyOnWriteArrayList<>();
  private final Map<String, Long> prices = new LinkedHashMap<>();

  public void addListener(Listener listener) {
    listeners.add(listener);
  }

  public boolean removeListener(Listener listener) {
    return listeners.remove(listener);
  }

  public List<Listener> getListeners() {
    return listeners;
  }

  public synchronized Map<String, Long> getPrices() {
    return prices;
  }

  public void set(String name, long cents) {
    synchronized (this) {
      prices.put(name, cents);
    }
    for (Listener listener : listeners) {
      try {
        listener.priceChanged(this, name, cents);
      } catch (RuntimeException e) {
        throw new RefusedException(name + " at " + cents + " was refused", e);
      }
    }
  }

  public long fees(String name) {
    long sum = 0;
    for (Listener listener : listeners) {
      Long fee = listener.feeFor(name);
      sum += fee == null ? 0 : fee;
    }
    return sum;
  }

  /** Sets prices on a thread of Java's. */
  public Thread run(String name, int count) {
    Thread thread = new Thread(() -> {
      for (int i = 1; i <= count; i++) {
        set(name, i);
      }
    }, "ticker");
    thread.start();
    return thread;
  }

  public List<String> labels(List<String> names, Function<String, String> label) {
    List<String> made = new ArrayList<>();
    for (String name : names) {
      made.add(label.apply(name));
    }
    return made;
  }

  public String best(List<String> names, Comparator<String> order) {
    return names.stream().max(order).orElseThrow();
  }

  public int[] histogram(byte[] data, int buckets) {
    int[] counts = new int[buckets];
    for (byte each : data) {
      counts[(each & 0xFF) * buckets / 256]++;
    }
    return counts;
  }
}
