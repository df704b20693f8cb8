package py4jtutorial;

/** What the tutorial begins with. */
public final class StackEntryPoint {
  private final Stack stack = new Stack();

  public Stack getStack() {
    return stack;
  }
}
