package jpeer.peer;

/**
 * Thrown by a callback without a result: its client has answered with an error, has not answered, or has
 * answered with a value that the method cannot return.
 */
public final class CallbackException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int code;

  CallbackException(int code, String message) {
    super(message);
    this.code = code;
  }

  /** The code of the client's error, or the peer's code for its own failures. */
  public int getCode() {
    return code;
  }
}
