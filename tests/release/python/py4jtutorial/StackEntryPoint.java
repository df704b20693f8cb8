package py4jtutorial;

/** The class with which the tutorial begins. */
public final class StackEntryPoint {
  private final Stack stack = new Stack();

  public Stack getStack() {
    return stack;
  }
}
