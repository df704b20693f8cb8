package jpeer.peer;

/** Tells of a stack trace in one call from C, where each question about a frame would be another. */
final class Traces {
  private static final String OWN = "jpeer.peer.";

  private Traces() {
  }

  /**
   * The innermost frames, at most max, without the peer's own, which stand under all others: their number, and of each
   * its length and then its text. A number is two chars, the higher half first. Null where there is no trace.
   */
  static String tell(Throwable thrown, int max) {
    StackTraceElement[] trace = thrown.getStackTrace();
    if (trace == null) {
      return null;
    }
    int count = count(trace, max);
    StringBuilder told = number(new StringBuilder(), count);
    for (int i = 0; i < count; i++) {
      String frame = trace[i].toString();
      number(told, frame.length()).append(frame);
    }
    return told.toString();
  }

  /* A trace of the application's own making may have holes: it ends at the first. */
  private static int count(StackTraceElement[] trace, int max) {
    int end = trace.length;
    while (end > 0 && trace[end - 1] != null && trace[end - 1].getClassName().startsWith(OWN)) {
      end--;
    }
    int count = 0;
    while (count < end && count < max && trace[count] != null) {
      count++;
    }
    return count;
  }

  private static StringBuilder number(StringBuilder told, int number) {
    return told.append((char) (number >>> 16)).append((char) number);
  }
}
