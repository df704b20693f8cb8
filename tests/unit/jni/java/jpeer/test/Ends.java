package jpeer.test;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

/** A main for every way in which a Java program ends; the first argument chooses. */
public final class Ends {
  private Ends() {
  }

  /** Exits in its initialiser. */
  static final class ExitsInInitializer {
    static {
      System.exit(6);
    }

    private ExitsInInitializer() {
    }

    static void touch() {
    }
  }

  public static void main(String[] args) throws Exception {
    say("main " + String.join(",", args));
    switch (args.length == 0 ? "return" : args[0]) {
      case "return":
        return;
      case "exit":
        System.exit(Integer.parseInt(args[1]));
        return;
      case "exit-in-initializer":
        ExitsInInitializer.touch();
        return;
      case "halt":
        Runtime.getRuntime().halt(7);
        return;
      case "throw":
        throw new IllegalStateException("thrown by main");
      case "handler":
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> say(thread.getName() + " handled " + e.getMessage()));
        throw new IllegalStateException("thrown by main");
      case "thread":
        startThread();
        return;
      case "wait":
        say("waiting");
        new CountDownLatch(1).await();
        return;
      case "daemon":
        Thread daemon = new Thread(Ends::waitForEver);
        daemon.setDaemon(true);
        daemon.start();
        return;
      case "hook-throws":
        addHook(() -> {
          throw new IllegalStateException("thrown by the hook");
        });
        return;
      case "hook-blocks":
        addHook(Ends::waitForEver);
        say("waiting");
        return;
      case "hook-outlives-drain":
        Runtime.getRuntime().addShutdownHook(new Thread(Ends::outliveDrain, "endless"));
        say("waiting");
        new CountDownLatch(1).await();
        return;
      case "name":
        say(Thread.currentThread().getName() + " " + Thread.currentThread().isDaemon());
        return;
      case "child":
        run(args[1]);
        return;
      default:
        throw new IllegalArgumentException(args[0]);
    }
  }

  static void say(String text) {
    byte[] line = (text + "\n").getBytes(StandardCharsets.UTF_8);
    System.out.write(line, 0, line.length);
    System.out.flush();
  }

  private static void waitForEver() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void outliveDrain() {
    Thread drain = null;
    while (drain == null) {
      for (Thread thread : Thread.getAllStackTraces().keySet()) {
        drain = thread.getName().equals("jpeer-drain") ? thread : drain;
      }
    }
    say("the hook sees the drain");
    try {
      drain.join();
      say("last hook");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    waitForEver();
  }

  private static void addHook(Runnable hook) {
    Runtime.getRuntime().addShutdownHook(new Thread(hook));
  }

  private static void startThread() {
    Thread main = Thread.currentThread();
    new Thread(() -> {
      try {
        main.join();
        say("last thread");
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }).start();
  }

  private static void run(String command) throws Exception {
    Process process = new ProcessBuilder("sh", "-c", command).inheritIO().start();
    say("child " + process.waitFor());
  }
}
