package jpeer.peer;

/**
 * A thread of the peer. It runs one native method, which is also the Java caller that Class.forName, ResourceBundle,
 * loggers and MethodHandles.lookup look for; code that C calls directly has none.
 *
 * Called code can reach these threads, by Thread.currentThread and by reflection. So C trusts nothing here: serve takes
 * no argument, and the thread that calls it decides what it does.
 */
final class PeerThread extends Thread {
  /* 64 callbacks inside one another fit, at 14 KiB each. A StackOverflowError takes 5 ms with 1 MiB and 47 with 8. */
  private static final long STACK_BYTES = 3 << 19;

  /* Whether called code has changed what the next call would see. C reads it at each request. */
  private volatile boolean isChanged;

  /* What the thread waits for in C; null: nothing. The thread itself writes it. */
  volatile Waiting waiting;

  PeerThread(ThreadGroup group, String name, ClassLoader contextClassLoader) {
    super(group, null, name, STACK_BYTES, false);
    setDaemon(true);
    super.setContextClassLoader(contextClassLoader);
  }

  /** Refuses the interrupt of a whole group: this thread may be serving another client. */
  @Override
  public void interrupt() {
    Class<?> caller = null;
    try {
      caller = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
    } catch (IllegalCallerException e) {
      // C calls, with no Java frame below, and not a group.
    }
    if (caller != ThreadGroup.class) {
      super.interrupt();
      isChanged = true;
      Waiting told = waiting;
      if (told != null) {
        told.interrupt();
      }
    }
  }

  /** Only the thread itself may change it: the call that runs here may be another client's. */
  @Override
  public void setContextClassLoader(ClassLoader loader) {
    if (Thread.currentThread() != this) {
      throw new SecurityException("only " + getName() + " itself may change its context class loader");
    }
    super.setContextClassLoader(loader);
    isChanged = true;
  }

  /** Does the work that the peer has made this thread for, once. Does nothing on other threads. */
  @Override
  public void run() {
    serve();
  }

  private static native void serve();
}
