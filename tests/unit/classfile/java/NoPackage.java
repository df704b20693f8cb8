public class NoPackage {
  public void run(final String name, long count, int last) {}
}
