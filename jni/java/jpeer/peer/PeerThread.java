package jpeer.peer;

/**
 * A thread of the peer. Its native method is its whole life; that method is also the Java caller that code
 * called from C would otherwise lack (Class.forName, ResourceBundle, loggers and MethodHandles.lookup ask who
 * calls them).
 *
 * Called code gets at these threads, by Thread.currentThread and by reflection. So nothing here is trusted by C:
 * serve takes nothing, and what it does is decided by the thread that calls it.
 */
final class PeerThread extends Thread {
  /* A StackOverflowError takes 5 ms with this and 47 with 8 MiB. */
  private static final long STACK_BYTES = 1 << 20;

  /* Whether called code has left something that the next call would meet. Read in C, at each request. */
  private volatile boolean isChanged;

  PeerThread(ThreadGroup group, String name, ClassLoader contextClassLoader) {
    super(group, null, name, STACK_BYTES, false);
    setDaemon(true);
    super.setContextClassLoader(contextClassLoader);
  }

  /** Refuses the interrupt of a whole group: this thread may be serving a client that has nothing to do with it. */
  @Override
  public void interrupt() {
    Class<?> caller = null;
    try {
      caller = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
    } catch (IllegalCallerException e) {
      // C calls, with no Java frame below: that is no group.
    }
    if (caller != ThreadGroup.class) {
      super.interrupt();
      isChanged = true;
    }
  }

  /** Only by the thread itself: the call that runs here may be another client's. */
  @Override
  public void setContextClassLoader(ClassLoader loader) {
    if (Thread.currentThread() != this) {
      throw new SecurityException("only " + getName() + " itself may change its context class loader");
    }
    super.setContextClassLoader(loader);
    isChanged = true;
  }

  /** Does what the peer has made the calling thread for; nothing on any other, and nothing the second time. */
  @Override
  public void run() {
    serve();
  }

  private static native void serve();
}
