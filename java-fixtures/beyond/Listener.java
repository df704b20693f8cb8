package beyond;

/** What a client implements in a class loader beyond the application's. */
public interface Listener {
  String hear(String what);
}
