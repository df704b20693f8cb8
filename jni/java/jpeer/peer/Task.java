package jpeer.peer;

/**
 * A task for an executor of the application. The thread that runs it works in place of a thread of the peer,
 * which waits for the end of the work.
 *
 * Application code can reach these objects, keep them, run them again, and make others. For this reason C
 * does not rely on this object: serve has no parameter, and runs the work that C has recorded for this
 * object, once.
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
