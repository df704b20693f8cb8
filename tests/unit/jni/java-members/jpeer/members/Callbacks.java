package jpeer.members;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;

/** What Java does with objects of a client. */
@SuppressWarnings("overloads")
public final class Callbacks {
  private Callbacks() {}

  /* ---- interfaces ---- */

  interface Secret {
    String greet(String name);

    default String greetTwice(String name) {
      return greet(name) + ", " + greet(name);
    }
  }

  private interface Inner {
    int one();
  }

  public sealed interface Closed permits Only {
    int one();
  }

  static final class Only implements Closed {
    @Override
    public int one() {
      return 1;
    }
  }

  interface ToHide {
    int one();
  }

  /** An interface that has no name. */
  static Class<?> hide() throws IOException, IllegalAccessException {
    try (InputStream in = Callbacks.class.getResourceAsStream("Callbacks$ToHide.class")) {
      return MethodHandles.lookup().defineHiddenClass(in.readAllBytes(), false).lookupClass();
    }
  }

  public interface Lengths extends Function<String, Integer> {}

  /** Overrides the function of its superinterface, which stays there for callers that know that alone. */
  public interface Counts extends Function<String, Integer> {
    @Override
    Integer apply(String text);
  }

  public interface Base<T> {
    T make();

    T[] makeMany();

    <U> U any();

    List<T> list();
  }

  public interface Middle<A, B> extends Base<B> {
    A other();
  }

  public interface Bottom extends Middle<Long, StringBuilder> {}

  public interface Primitives {
    boolean not(boolean value);

    byte next(byte value);

    char next(char value);

    short next(short value);

    int next(int value);

    long next(long value);

    float next(float value);

    double next(double value);

    int[] next(int[] values);

    void nothing();
  }

  public interface Greeter {
    String name();

    default String greet() {
      return "hello " + name();
    }

    default String repeat(String text, int times, long unused, boolean isLoud) {
      return (isLoud ? text.toUpperCase() : text).repeat(times) + name();
    }

    default int fail() throws IOException {
      throw new IOException(name());
    }
  }

  public interface Loud extends Greeter {
    @Override
    default String greet() {
      return "HELLO " + name();
    }
  }

  /** What Greeter does by itself is the client's again. */
  public interface Mute extends Greeter {
    @Override
    String greet();
  }

  public interface Other {
    default String greet() {
      return "other";
    }
  }

  public interface Listener {
    void heard(String what);

    int count();
  }

  public interface Throwing {
    void plain();

    void io() throws IOException;
  }

  public interface Marker {}

  public interface Odd {
    boolean equals(Object other);

    int hashCode();

    String toString();

    void finalize();

    int one();

    static int two() {
      return 2;
    }
  }

  /* ---- uses ---- */

  public static String greet(Secret secret, String name) {
    return secret.greet(name);
  }

  public static String greetTwice(Secret secret) {
    return secret.greetTwice("you");
  }

  public static int inner(Inner inner) {
    return inner.one();
  }

  public static int closed(Closed closed) {
    return closed.one();
  }

  public static String compareAll(Comparator<Object> comparator) {
    List<Object> all = new ArrayList<>(List.of("b", "d", "a", "c"));
    all.sort(comparator);
    return all.toString();
  }

  public static int compare(Comparator<Object> comparator, Object one, Object other) {
    return comparator.compare(one, other);
  }

  /** Casts, as code that the compiler has made does. */
  public static int length(Lengths lengths) {
    return lengths.apply("four");
  }

  public static int count(Counts counts) {
    Function<String, Integer> function = counts;
    return counts.apply("one") * 10 + function.apply("two");
  }

  public static String bottom(Bottom bottom) {
    StringBuilder made = bottom.make();
    StringBuilder[] many = bottom.makeMany();
    Object any = bottom.any();
    return made.append(bottom.other()).append(many.length).append(any).append(bottom.list()).toString();
  }

  public static String primitives(Primitives p) {
    p.nothing();
    return p.not(true) + " " + p.next((byte) 1) + " " + p.next('a') + " " + p.next((short) 2) + " " + p.next(3) + " "
        + p.next(4L) + " " + p.next(5f) + " " + p.next(6d) + " " + p.next(new int[] {7, 8}).length;
  }

  public static int nextInt(Primitives p) {
    return p.next(3);
  }

  public static void nothing(Primitives p) {
    p.nothing();
  }

  public static String greeter(Greeter greeter) {
    return greeter.greet();
  }

  public static String repeat(Greeter greeter) {
    return greeter.repeat("ab", 2, 1L << 40, true);
  }

  public static String fail(Greeter greeter) {
    try {
      greeter.fail();
      return "nothing";
    } catch (IOException e) {
      return e.getMessage();
    }
  }

  public static String other(Other other) {
    return other.greet();
  }

  public static int hear(Listener listener) {
    listener.heard("a");
    listener.heard("b");
    return listener.count();
  }

  public static String throwing(Throwing throwing, boolean isDeclared) {
    try {
      if (isDeclared) {
        throwing.io();
      } else {
        throwing.plain();
      }
      return "nothing";
    } catch (IOException e) {
      return "caught " + e;
    } catch (UndeclaredThrowableException e) {
      return "undeclared " + e.getUndeclaredThrowable();
    } catch (Throwable e) {
      return "unchecked " + e;
    }
  }

  /** The code of the CallbackException. */
  public static int codeOf(Throwing throwing) throws Exception {
    try {
      throwing.plain();
      return 0;
    } catch (RuntimeException e) {
      return (Integer) e.getClass().getMethod("getCode").invoke(e);
    }
  }

  public static String odd(Odd odd, Odd same) {
    odd.finalize();
    return odd.equals(same) + " " + odd.equals(null) + " " + odd.equals("x") + " "
        + (odd.hashCode() == System.identityHashCode(odd)) + " " + odd + " " + odd.one();
  }

  public static String inMaps(Comparator<Object> one, Comparator<Object> same, Comparator<Object> other) {
    Map<Object, String> map = new HashMap<>();
    map.put(one, "one");
    map.put(same, "same");
    map.put(other, "other");
    Set<Object> set = new HashSet<>(map.keySet());
    return map.get(one) + map.get(other) + map.size() + set.size() + (one == same) + one.equals(other);
  }

  public static int both(Object both) throws Exception {
    return ((Callable<?>) both).call().hashCode() + ((Comparator<?>) both).hashCode() * 0;
  }

  public static boolean isProxy(Object object) {
    return Proxy.isProxyClass(object.getClass());
  }

  public static boolean same(Object one, Object other) {
    return one == other;
  }

  public static String list(List<Object> all) {
    StringBuilder told = new StringBuilder();
    for (Object each : all) {
      told.append(each instanceof Comparator ? "comparator " : each + " ");
    }
    return told.toString();
  }

  public static int varied(int first, Callable<?>... all) throws Exception {
    int sum = first;
    for (Callable<?> each : all) {
      sum += (Integer) each.call();
    }
    return sum;
  }

  /* ---- overloads ---- */

  public static String submit(Runnable task) {
    task.run();
    return "runnable";
  }

  public static String submit(Callable<?> task) throws Exception {
    return "callable " + task.call();
  }

  public static String map(Function<Object, Object> function) {
    return "function";
  }

  public static String map(BiFunction<Object, Object, Object> function) {
    return "bifunction";
  }

  public static String map(Object other) {
    return "object";
  }

  public static String map(String other) {
    return "text";
  }

  public static String either(Function<Object, Object> function) {
    return "function";
  }

  public static String either(Comparable<Object> comparable) {
    return "comparable";
  }

  public static String special(Function<String, Integer> function) {
    return "function";
  }

  public static String special(Lengths function) {
    return "lengths";
  }

  public static String hears(Listener listener, int times) {
    return "listener";
  }

  public static String hears(String listener, int times) {
    return "text";
  }

  public static String widen(Runnable task, long number) {
    return "long";
  }

  public static String widen(Runnable task, String number) {
    return "text";
  }

  public static String only(Runnable task) {
    return "only";
  }

  public static String object(Object object) {
    return "object";
  }

  /* ---- misuse ---- */

  private static String thrown(Callable<?> action) {
    try {
      return String.valueOf(action.call());
    } catch (Throwable e) {
      Throwable shown = e instanceof java.lang.reflect.InvocationTargetException ? e.getCause() : e;
      return shown.getClass().getSimpleName();
    }
  }

  /** Gives the handler proxies and methods that are not its own. */
  public static String misuse(Comparator<Object> mine, Comparator<Object> another) throws Exception {
    InvocationHandler handler = Proxy.getInvocationHandler(mine);
    InvocationHandler foreign = Proxy.getInvocationHandler(another);
    Method compare = Comparator.class.getMethod("compare", Object.class, Object.class);
    Method apply = Function.class.getMethod("apply", Object.class);
    Method notify = Object.class.getMethod("notify");
    Object stolen = Proxy.newProxyInstance(null, new Class<?>[] {Comparator.class}, handler);
    Object[] two = {"a", "b"};
    StringBuilder told = new StringBuilder();
    told.append(thrown(() -> ((Comparator<?>) stolen).reversed())).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, stolen, compare, two))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, another, compare, two))).append(' ');
    told.append(thrown(() -> throwingInvoke(foreign, mine, compare, two))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, null, compare, two))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, mine, apply, two))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, mine, notify, null))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, mine, null, null))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, mine, compare, null))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, mine, compare, new Object[] {"a"}))).append(' ');
    told.append(thrown(() -> throwingInvoke(handler, mine, compare, two)));
    return told.toString();
  }

  private static Object throwingInvoke(InvocationHandler handler, Object proxy, Method method, Object[] arguments)
      throws Exception {
    try {
      return handler.invoke(proxy, method, arguments);
    } catch (Exception e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** The peer's own classes are reached by reflection, and their native methods called with what they are not for. */
  public static String natives(Greeter mine, Greeter another) throws Exception {
    InvocationHandler handler = Proxy.getInvocationHandler(mine);
    InvocationHandler foreign = Proxy.getInvocationHandler(another);
    Class<?> type = handler.getClass();
    Class<?> waitType = Class.forName("jpeer.peer.Waiting", false, type.getClassLoader());
    Method call = method(type, "call", long.class, int.class, Object[].class, waitType, boolean.class);
    Method run = method(type, "run", long.class, int.class, Object[].class);
    Method resume = method(type, "resume", waitType);
    Method abandon = method(type, "abandon", waitType);
    Method tell = method(Class.forName("jpeer.peer.Released", false, type.getClassLoader()), "tell", long.class);
    var make = waitType.getDeclaredConstructor();
    make.setAccessible(true);
    Object waiting = make.newInstance();
    var field = type.getDeclaredField("number");
    field.setAccessible(true);
    long number = field.getLong(handler);
    StringBuilder told = new StringBuilder();
    for (long each : new long[] {0, -1, number + 1000, field.getLong(foreign)}) {
      told.append(thrown(() -> call.invoke(handler, each, 0, null, waiting, false))).append(' ');
      told.append(thrown(() -> run.invoke(handler, each, 0, null))).append(' ');
    }
    for (int index : new int[] {-1, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      told.append(thrown(() -> call.invoke(handler, number, index, null, waiting, false))).append(' ');
      told.append(thrown(() -> run.invoke(handler, number, index, null))).append(' ');
    }
    told.append(thrown(() -> resume.invoke(handler, waiting))).append(' ');
    told.append(thrown(() -> resume.invoke(handler, new Object[] {null}))).append(' ');
    told.append(thrown(() -> abandon.invoke(handler, waiting))).append(' ');
    tell.invoke(null, number);
    tell.invoke(null, 0L);
    tell.invoke(null, -1L);
    told.append(wrongArguments(handler, number, run));
    return told.append(mine.name()).toString();
  }

  /** Which of the rows is repeat(String, int, long, boolean) is not told; all others take nothing. */
  private static String wrongArguments(InvocationHandler handler, long number, Method run) {
    Object[][] wrong = {
      null, {}, {"a"}, {"a", 1, 2L, true, 3}, {1, 1, 2L, true}, {"a", "1", 2L, true}, {"a", 1, 2, true},
      {"a", 1, 2L, "true"}, {"a", null, 2L, true}, {"a", 1L, 2L, true}
    };
    int refused = 0;
    for (int index = 0; index < 4; index++) {
      int at = index;
      for (Object[] each : wrong) {
        String came = thrown(() -> run.invoke(handler, number, at, each));
        refused += came.equals("IllegalArgumentException") ? 1 : 0;
      }
    }
    return refused + " ";
  }

  private static Method method(Class<?> type, String name, Class<?>... parameters) throws Exception {
    Method method = type.getDeclaredMethod(name, parameters);
    method.setAccessible(true);
    return method;
  }

  /* ---- what calls back while a call is prepared or its result is read ---- */

  /** A list whose elements come from the client. */
  public static Object lazy(Supplier<Object> supplier) {
    return new java.util.AbstractList<Object>() {
      @Override
      public Object get(int index) {
        return supplier.get();
      }

      @Override
      public int size() {
        return (Integer) supplier.get();
      }
    };
  }

  /** A loader that asks the client before it loads a class. */
  public static ClassLoader asking(Supplier<Object> supplier) {
    return new ClassLoader(Callbacks.class.getClassLoader()) {
      @Override
      protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        return super.loadClass(String.valueOf(supplier.get()), resolve);
      }
    };
  }

  /** A collection whose elements are added by asking the client. */
  public static final class Asked extends ArrayList<Object> {
    private static final long serialVersionUID = 1;

    static transient Supplier<Object> supplier;

    @Override
    public boolean add(Object element) {
      return super.add(element + "-" + supplier.get());
    }
  }

  public static void ask(Supplier<Object> supplier) {
    Asked.supplier = supplier;
  }

  public static String asked(Asked all) {
    return all.toString();
  }

  public static int use(IntBinaryOperator operator) {
    return operator.applyAsInt(3, 4);
  }
}
