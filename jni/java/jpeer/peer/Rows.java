package jpeer.peer;

/** Where the rows of jpeer.columns come from. */
abstract class Rows {
  /** Thrown when the policy denies a member; C has the denial. */
  static final Error REFUSED = new Error("refused");

  Column[] columns = {};
  long page; // the number of the request that reads: what an earlier one has asked counts no more

  /**
   * Asks the policy about a method, or about a field if the descriptor is the field's, or about the elements of
   * an array if it is "[]". own: the class of the object. C finds the request by the thread.
   */
  private static native boolean allows(Class<?> own, Class<?> declaring, String name, String descriptor);

  static void ask(Class<?> own, Class<?> declaring, String name, String descriptor) {
    if (!allows(own, declaring, name, descriptor)) {
      throw REFUSED;
    }
  }

  /** Begins a request. paths: which columns; null: those of the source. */
  final void beginPage(String[] paths) throws Throwable {
    page++;
    begin(paths);
  }

  abstract void begin(String[] paths) throws Throwable;

  /** False: there is no further row. */
  abstract boolean next() throws Throwable;

  /**
   * Writes the row at the index into the columns. False: a value does not fit the type of its column. Nothing
   * is kept of a row that throws, except of one that throws REFUSED, which is the next row again.
   */
  abstract boolean read(int row) throws Throwable;
}
