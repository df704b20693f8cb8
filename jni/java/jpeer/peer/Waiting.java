package jpeer.peer;

import java.util.concurrent.locks.LockSupport;

/**
 * The wait of one thread for the answer to a callback. A virtual thread leaves its carrier while it is parked here.
 *
 * Called code can reach these objects by reflection. So C trusts nothing here: it takes the number for that of this very
 * object alone, and on this thread alone.
 */
final class Waiting {
  private final Thread thread = Thread.currentThread();

  /* C writes these two: the number that it knows this wait by, and how long to park at most; 0: as long as it takes. */
  private volatile long number;
  private long nanos;

  /* C reads it after it has written the number, and asks the thread where it is set. */
  private volatile boolean isInterrupted;

  private volatile boolean isWoken;

  /** Ends the park, also one that has not begun. Any thread. */
  void wake() {
    isWoken = true;
    LockSupport.unpark(thread);
  }

  /** Parks until wake, an interrupt, whose flag stays, or the end of the time. */
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
    // Whatever a wake tells of has happened before it, and C looks for it after this.
    isWoken = false;
  }

  /** Lets the thread look at its interrupt flag, where it waits in C: one that has no number yet sees the field. */
  void interrupt() {
    isInterrupted = true;
    interrupted();
  }

  private native void interrupted();
}
