package jpeer.peer;

/** Describes a stack trace in one call from C, which would otherwise need several calls for each frame. */
final class Traces {
  private static final String OWN = "jpeer.peer.";

  private Traces() {
  }

  /**
   * The innermost frames, at most max, without the peer's own, which are the outermost: their number, then for each its
   * length and its text. A number is two chars, the higher half first. Null: there is no trace.
   */
  static String describe(Throwable thrown, int max) {
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

  /* An application can make a trace with nulls: the description ends at the first. */
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
