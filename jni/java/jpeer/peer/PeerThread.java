package jpeer.peer;

/**
 * A thread of the peer. Its native method is its whole life; that method is also the Java caller that code
 * called from C would otherwise lack (Class.forName, ResourceBundle, loggers and MethodHandles.lookup ask who
 * calls them).
 */
final class PeerThread extends Thread {
  /* A StackOverflowError takes 5 ms with this and 47 with 8 MiB. */
  private static final long STACK_BYTES = 1 << 20;

  private final long work;
  private final ClassLoader ownContextClassLoader;

  /* Whether called code has left something that the next call would meet. Read in C, at each request. */
  private volatile boolean isChanged;

  /** @param work the address of what serve is to do; serve frees it */
  PeerThread(String name, ClassLoader contextClassLoader, long work) {
    super(null, null, name, STACK_BYTES, false);
    this.work = work;
    this.ownContextClassLoader = contextClassLoader;
    setDaemon(true);
    super.setContextClassLoader(contextClassLoader);
  }

  @Override
  public void interrupt() {
    super.interrupt();
    isChanged = true;
  }

  @Override
  public void setContextClassLoader(ClassLoader loader) {
    super.setContextClassLoader(loader);
    isChanged = true;
  }

  /** Takes back what a call has left: the next one on this thread may be another client's. */
  private void restore() {
    isChanged = false;
    Thread.interrupted();
    super.setContextClassLoader(ownContextClassLoader);
  }

  @Override
  public void run() {
    serve(work);
  }

  private static native void serve(long work);
}
