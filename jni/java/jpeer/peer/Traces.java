package jpeer.peer;

/** Describes a stack trace in one call from C, which would otherwise need several calls for each frame. */
final class Traces {
  private static final String OWN = "jpeer.peer.";

  private Traces() {
  }

  /**
   * The innermost frames, at most max, without the peer's own: their number, then for each its length and its text. A
   * number is two chars, the higher half first. Null: there is no trace.
   */
  static String describe(Throwable thrown, int max) {
    StackTraceElement[] trace = thrown.getStackTrace();
    if (trace == null) {
      return null;
    }
    StringBuilder told = new StringBuilder();
    int count = 0;
    // An application can make a trace with nulls: the description ends at the first.
    for (int i = 0; i < trace.length && count < max && trace[i] != null; i++) {
      if (!trace[i].getClassName().startsWith(OWN)) {
        String frame = trace[i].toString();
        number(told, frame.length()).append(frame);
        count++;
      }
    }
    return number(new StringBuilder(), count).append(told).toString();
  }

  private static StringBuilder number(StringBuilder told, int number) {
    return told.append((char) (number >>> 16)).append((char) number);
  }
}
