package jpeer.peer;

/**
 * What an executor of the application is given. The thread that runs it does work in place of a thread of the peer,
 * which waits for that.
 *
 * Called code can reach these objects, keep them, run them again, and make others. So C trusts nothing here: serve takes
 * no argument, and does the work that C has noted for this very object, once.
 */
final class Task implements Runnable {
  private Task() {
  }

  @Override
  public void run() {
    serve();
  }

  private native void serve();
}
