package jpeer.members;

import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/** Calls a client's objects from threads of every kind. */
public final class CallbackThreads {
  private CallbackThreads() {}

  private static volatile Thread caller;
  private static final ThreadLocal<String> LOCAL = new ThreadLocal<>();

  /* ---- on another thread ---- */

  private static String describe(Callable<?> action) {
    try {
      return String.valueOf(action.call());
    } catch (Exception e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static String runOn(Function<Runnable, Thread> maker, Callable<?> action) throws InterruptedException {
    AtomicReference<String> result = new AtomicReference<>();
    Thread thread = maker.apply(() -> result.set(describe(action) + " " + Thread.currentThread().isInterrupted()));
    caller = thread;
    thread.start();
    thread.join();
    return result.get();
  }

  public static String onThread(Callable<?> action) throws InterruptedException {
    return runOn(task -> new Thread(task, "application"), action);
  }

  /** Interrupted before it calls. */
  public static String whenInterrupted(Callable<?> action) throws InterruptedException {
    return onThread(() -> {
      Thread.currentThread().interrupt();
      return action.call();
    });
  }

  public static String onewayWhenInterrupted(Runnable action) throws InterruptedException {
    return onThread(() -> {
      Thread.currentThread().interrupt();
      action.run();
      return "ran";
    });
  }

  public static void interruptCaller() {
    caller.interrupt();
  }

  /** Interrupts the thread that it is called on while that waits in C. */
  public static String onThisThread(Callable<?> action) throws Exception {
    Thread own = Thread.currentThread();
    caller = own;
    String result = describe(action);
    return result + " " + own.isInterrupted();
  }

  /* ---- what a nested request sees ---- */

  public static String withLocal(Callable<?> action) throws Exception {
    return onThread(() -> {
      LOCAL.set("local");
      return action.call();
    });
  }

  public static String local() {
    return LOCAL.get() + " on " + Thread.currentThread().getName();
  }

  public static int down(int depth, Function<Object, Object> next) {
    return depth == 0 ? 0 : 1 + (Integer) next.apply(depth - 1);
  }

  public static boolean holdsLock(Callable<?> action, Object lock) throws Exception {
    synchronized (lock) {
      action.call();
    }
    return true;
  }

  public static boolean isLocked(Object lock) {
    return Thread.holdsLock(lock);
  }

  /** Calls until no stack is left; how deep it came tells nothing, but that it comes back does. */
  public static String endless(Function<Object, Object> next) {
    try {
      return String.valueOf(next.apply(1));
    } catch (RuntimeException e) {
      return e.getMessage();
    }
  }

  /** The interrupt flag and the context class loader, set by the application's own thread, after a nested request. */
  public static String ownState(Callable<?> action) throws InterruptedException {
    return onThread(() -> {
      ClassLoader own = new ClassLoader() {};
      Thread.currentThread().setContextClassLoader(own);
      action.call();
      return Thread.currentThread().getContextClassLoader() == own;
    });
  }

  /* ---- many threads ---- */

  public static int invokeAll(Callable<Integer> action, int count) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    try {
      List<Callable<Integer>> all = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        all.add(action);
      }
      int sum = 0;
      for (Future<Integer> each : pool.invokeAll(all)) {
        sum += each.get();
      }
      return sum;
    } finally {
      pool.shutdown();
    }
  }

  public static String parallelSort(Comparator<Integer> comparator, int count) {
    Integer[] all = new Integer[count];
    for (int i = 0; i < count; i++) {
      all[i] = (i * 7919) % count;
    }
    Arrays.parallelSort(all, comparator);
    for (int i = 0; i < count; i++) {
      if (all[i] != i) {
        return "wrong at " + i;
      }
    }
    return "sorted";
  }

  /* ---- virtual threads, which the class files of Java 17 do not know ---- */

  private static Thread startVirtual(Runnable task) {
    try {
      Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
      return (Thread) start.invoke(null, task);
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }

  public static boolean hasVirtualThreads() {
    return Runtime.version().feature() >= 21;
  }

  /**
   * More waits than there are carriers, and then a thread that waits for nothing: it runs only where a wait leaves its
   * carrier. The waits end when that has run.
   */
  public static String virtual(Callable<Integer> action, Runnable afterwards, int count) throws Exception {
    System.setProperty("jdk.virtualThreadScheduler.parallelism", "2");
    System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", "2");
    CountDownLatch ended = new CountDownLatch(count);
    AtomicReference<String> wrong = new AtomicReference<>();
    for (int i = 0; i < count; i++) {
      startVirtual(() -> {
        try {
          if (action.call() != 5) {
            wrong.set("a wrong answer");
          }
        } catch (Exception e) {
          wrong.set(e.toString());
        }
        ended.countDown();
      });
    }
    CountDownLatch trivial = new CountDownLatch(1);
    startVirtual(trivial::countDown);
    if (!trivial.await(100, TimeUnit.SECONDS)) {
      return "the carriers are held";
    }
    afterwards.run();
    ended.await();
    return wrong.get() == null ? "all" : wrong.get();
  }

  /** The waits are inside of a default method. */
  public static String virtualDefault(Callbacks.Greeter greeter, Runnable afterwards, int count) throws Exception {
    return virtual(() -> greeter.greet().length() - 2, afterwards, count);
  }

  public static String onVirtual(Callable<?> action) throws InterruptedException {
    CountDownLatch ended = new CountDownLatch(1);
    AtomicReference<String> result = new AtomicReference<>();
    startVirtual(() -> {
      caller = Thread.currentThread();
      result.set(describe(action) + " " + Thread.currentThread().isInterrupted());
      ended.countDown();
    });
    ended.await();
    return result.get();
  }

  /* ---- the end of a proxy ---- */

  private static Object held;
  private static WeakReference<Object> seen;

  public static void hold(Comparator<Object> comparator) {
    held = comparator;
    seen = new WeakReference<>(comparator);
  }

  public static void letGo() {
    held = null;
  }

  public static boolean isCollected() throws InterruptedException {
    for (int i = 0; i < 200 && seen.get() != null; i++) {
      System.gc();
      Thread.sleep(5);
    }
    return seen.get() == null;
  }

  /** Nothing but the call itself needs the proxy any more, while the client collects garbage. */
  public static int callLast(Callable<Integer>[] only) throws Exception {
    Callable<Integer> last = only[0];
    only[0] = null;
    return last.call();
  }

  public static void collect() throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(5);
    }
  }

  /** Only the handler is kept. */
  private static InvocationHandler kept;

  public static void keepHandler(Object proxy) {
    kept = java.lang.reflect.Proxy.getInvocationHandler(proxy);
    seen = new WeakReference<>(proxy);
  }

  public static void dropHandler() {
    kept = null;
  }

  public static boolean isAlive() throws InterruptedException {
    collect();
    return seen.get() != null && kept != null;
  }
}
