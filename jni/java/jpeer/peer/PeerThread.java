package jpeer.peer;

/**
 * A thread of the peer. Class.forName, ResourceBundle, loggers and MethodHandles.lookup look for the Java
 * method that calls them; for code that a client calls, this is the native method of this class. Without it
 * there would be no Java caller.
 *
 * Application code can reach these threads, by Thread.currentThread and by reflection. For this reason C does
 * not rely on this object: serve has no parameter, and the thread that calls serve determines the work.
 */
final class PeerThread extends Thread {
  /* 64 nested callbacks fit, at 14 KiB each. A StackOverflowError takes 5 ms with a stack of 1 MiB and 47
   * with 8 MiB. */
  private static final long STACK_BYTES = 3 << 19;

  /* Whether application code has changed state of the thread that the next call would see. C reads it at each
   * request. */
  private volatile boolean isChanged;

  /* The wait of this thread while it waits in C; null: it does not wait. Only the thread itself writes it. */
  volatile Waiting waiting;

  PeerThread(ThreadGroup group, String name, ClassLoader contextClassLoader) {
    super(group, null, name, STACK_BYTES, false);
    setDaemon(true);
    super.setContextClassLoader(contextClassLoader);
  }

  /** Refuses the interrupt of a whole group, because this thread may be serving another client. */
  @Override
  public void interrupt() {
    Class<?> caller = null;
    try {
      caller = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
    } catch (IllegalCallerException e) {
      // The interrupt comes from C, because it has no Java frame: it does not come from a group.
    }
    if (caller != ThreadGroup.class) {
      super.interrupt();
      isChanged = true;
      Waiting present = waiting;
      if (present != null) {
        present.interrupt();
      }
    }
  }

  /** Only the thread itself may change its name, because the running call may be another client's. */
  @Override
  public void setContextClassLoader(ClassLoader loader) {
    if (Thread.currentThread() != this) {
      throw new SecurityException("only " + getName() + " itself may change its context class loader");
    }
    super.setContextClassLoader(loader);
    isChanged = true;
  }

  /** Runs the work that the peer has made this thread for, once. Does nothing on other threads. */
  @Override
  public void run() {
    serve();
  }

  private static native void serve();
}
