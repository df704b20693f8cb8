package jpeer.peer;

import java.lang.ref.Cleaner;

/** Notifies C that a callback's proxy has been collected. C verifies the number by its own weak reference. */
final class Released implements Runnable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final long number;

  private Released(long number) {
    this.number = number;
  }

  static void watch(Object handler, long number) {
    CLEANER.register(handler, new Released(number));
  }

  @Override
  public void run() {
    reportCollected(number);
  }

  private static native void reportCollected(long number);
}
