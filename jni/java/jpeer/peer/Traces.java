package jpeer.peer;

/** Describes a throwable in one call from C, which would otherwise need several calls for each frame. */
final class Traces {
  private static final String OWN = "jpeer.peer.";
  private static final int SUPERCLASSES_MAX = 64;

  private Traces() {
  }

  /**
   * Returns two lists: the innermost frames, at most max, without the peer's own frames, and the names of the
   * superclasses, nearest first. Each list is its number of texts, then for each text its length and the
   * text. A number is two chars, high half first.
   */
  static String describe(Throwable thrown, int max) {
    StringBuilder frames = new StringBuilder();
    int count = 0;
    StackTraceElement[] trace = max == 0 ? null : traceOf(thrown);
    // An application can set a trace with nulls. The description ends at the first null.
    for (int i = 0; trace != null && i < trace.length && count < max && trace[i] != null; i++) {
      if (!trace[i].getClassName().startsWith(OWN)) {
        text(frames, trace[i].toString());
        count++;
      }
    }
    StringBuilder superclasses = new StringBuilder();
    int above = 0;
    Class<?> each = thrown.getClass().getSuperclass();
    for (; each != null && above < SUPERCLASSES_MAX; each = each.getSuperclass()) {
      text(superclasses, each.getName());
      above++;
    }
    StringBuilder description = number(new StringBuilder(), count).append(frames);
    return number(description, above).append(superclasses).toString();
  }

  private static StackTraceElement[] traceOf(Throwable thrown) {
    try {
      return thrown.getStackTrace();
    } catch (Throwable applications) { // an overriding getStackTrace may throw anything
      return null;
    }
  }

  private static void text(StringBuilder list, String text) {
    number(list, text.length()).append(text);
  }

  private static StringBuilder number(StringBuilder list, int number) {
    return list.append((char) (number >>> 16)).append((char) number);
  }
}
