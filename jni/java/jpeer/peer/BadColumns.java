package jpeer.peer;

/** The request, or a row that it asks for, is wrong: the client gets the message, and no Java exception. */
final class BadColumns extends Exception {
  private static final long serialVersionUID = 1;

  BadColumns(String message) {
    super(message, null, false, false);
  }
}
