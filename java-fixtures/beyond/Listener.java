package beyond;

/** A client implements it in a class loader beyond the application's. */
public interface Listener {
  String hear(String what);
}
