package py4jtutorial;

import java.util.LinkedList;
import java.util.List;

/** Strings, last in first out. */
public final class Stack {
  private final List<String> elements = new LinkedList<>();

  public void push(String element) {
    elements.add(0, element);
  }

  public String pop() {
    return elements.isEmpty() ? "" : elements.remove(0);
  }

  public List<String> getInternalList() {
    return elements;
  }

  public void pushAll(List<String> more) {
    elements.addAll(more);
  }
}
