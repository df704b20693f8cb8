package jpeer.test;

import java.util.concurrent.CountDownLatch;

/** What application code can observe on its thread, and threads that block. */
public final class Threads {
  private static final CountDownLatch NEVER = new CountDownLatch(1);

  private Threads() {
  }

  /** Empty if everything is as in a thread that Java code made. */
  public static String complaints() {
    StringBuilder complaints = new StringBuilder();
    Thread current = Thread.currentThread();
    if (!current.isDaemon()) {
      complaints.append("not a daemon; ");
    }
    if (current.getContextClassLoader() != ClassLoader.getSystemClassLoader()) {
      complaints.append("context class loader; ");
    }
    if (current.isInterrupted()) {
      complaints.append("interrupted; ");
    }
    try {
      Class.forName("jpeer.test.Nothing");
      java.lang.invoke.MethodHandles.lookup();
      java.util.logging.Logger.getLogger("jpeer.test");
    } catch (ReflectiveOperationException | RuntimeException e) {
      complaints.append(e);
    }
    return complaints.toString();
  }

  public static void interrupt() {
    Thread.currentThread().interrupt();
  }

  public static void interruptGroups() {
    for (ThreadGroup group = Thread.currentThread().getThreadGroup(); group != null; group = group.getParent()) {
      group.interrupt();
    }
  }

  /** Runs the thread's run again, here and in another thread. */
  public static void runAgain() throws InterruptedException {
    Thread current = Thread.currentThread();
    current.run();
    Thread wrapper = new Thread(current);
    wrapper.start();
    wrapper.join();
  }

  public static void dropLoader() {
    Thread.currentThread().setContextClassLoader(null);
  }

  public static int depth() {
    try {
      return 1 + depth();
    } catch (StackOverflowError e) {
      return 1;
    }
  }

  public static void sleepForEver() throws InterruptedException {
    NEVER.await();
  }
}
