package client;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Runs suites of checks against a peer: usage: Main ADDRESS SUITE... */
public final class Main {
  private static final Map<String, Function<String, Suite>> SUITES = Map.ofEntries(
      Map.entry("calls", Calls::new),
      Map.entry("controls", Controls::new),
      Map.entry("denials", Denials::new),
      Map.entry("fields", Fields::new),
      Map.entry("hostile", Hostile::new),
      Map.entry("limits", Limits::new),
      Map.entry("metadata", Metadata::new),
      Map.entry("pal", Pal::new),
      Map.entry("texts", Texts::new),
      Map.entry("throwables", Throwables::new),
      Map.entry("values", Values::new));

  private int passed;
  private int failed;

  private Main() {}

  public static void main(String[] arguments) throws ReflectiveOperationException {
    Main main = new Main();
    Reply.everyResultHasARef = Arrays.asList(arguments).contains("pal");
    for (String suite : Arrays.asList(arguments).subList(1, arguments.length)) {
      main.runSuite(suite, SUITES.get(suite), arguments[0]);
    }
    System.out.println(main.passed + " passed, " + main.failed + " failed");
    System.exit(main.failed == 0 ? 0 : 1);
  }

  private void runSuite(String name, Function<String, Suite> creator, String address)
      throws ReflectiveOperationException {
    List<Method> checks;
    try (Suite suite = creator.apply(address)) {
      checks = Arrays.stream(suite.getClass().getDeclaredMethods())
                   .filter(method -> Modifier.isPublic(method.getModifiers()))
                   .sorted(Comparator.comparing(Method::getName))
                   .toList();
    }
    for (Method check : checks) {
      try (Suite suite = creator.apply(address)) {
        check.invoke(suite);
        passed++;
      } catch (InvocationTargetException e) {
        failed++;
        System.out.println("failed: " + name + ", " + check.getName() + ": " + e.getCause());
      }
    }
  }
}
