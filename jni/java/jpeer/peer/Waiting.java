package jpeer.peer;

import java.util.concurrent.locks.LockSupport;

/**
 * The wait of one thread for the answer to a callback. A virtual thread leaves its carrier while it is parked
 * here.
 *
 * Application code can reach these objects by reflection. For this reason C does not trust the number: C
 * accepts it only from the object to which it belongs, and only on this thread.
 */
final class Waiting {
  private final Thread thread = Thread.currentThread();

  /* C writes the next two fields: the number of the call, and the longest time to park; 0: without a
   * limit. */
  private volatile long number;
  private long nanos;

  /* C reads this field after it has written the number. If the field is true, C checks the thread's interrupt
   * flag. */
  private volatile boolean isInterrupted;

  private volatile boolean isWoken;

  /** Ends the current park; if the thread is not parked, its next park returns at once. Any thread. */
  void wake() {
    isWoken = true;
    LockSupport.unpark(thread);
  }

  /** Parks until wake, an interrupt (the flag remains set), or the timeout. */
  void park() {
    long end = System.nanoTime() + nanos;
    while (!isWoken && !thread.isInterrupted()) {
      if (nanos == 0) {
        LockSupport.park(this);
        continue;
      }
      long left = end - System.nanoTime();
      if (left <= 0) {
        break;
      }
      LockSupport.parkNanos(this, left);
    }
    // C checks the state of the call after this, and so finds every change that happened before a wake.
    isWoken = false;
  }

  /**
   * Lets the thread check its interrupt flag while it waits in C. A wait without a number yet reads
   * isInterrupted later.
   */
  void interrupt() {
    isInterrupted = true;
    interrupted();
  }

  private native void interrupted();
}
