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

  /** @param work the address of what serve is to do; serve frees it */
  PeerThread(String name, ClassLoader contextClassLoader, long work) {
    super(null, null, name, STACK_BYTES, false);
    this.work = work;
    setDaemon(true);
    setContextClassLoader(contextClassLoader);
  }

  @Override
  public void run() {
    serve(work);
  }

  private static native void serve(long work);
}
