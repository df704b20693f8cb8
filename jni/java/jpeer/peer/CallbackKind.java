package jpeer.peer;

import java.lang.invoke.MethodType;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * The common part of all callbacks with the same interfaces: the loader of their proxies, and what a call of
 * each method does. If a proxy is impossible, an IllegalArgumentException says why; the client gets its
 * message.
 */
final class CallbackKind {
  static final int EQUALS = -1;
  static final int HASH_CODE = -2;
  static final int TO_STRING = -3;
  static final int FINALIZE = -4;

  /** The result of methodOfObject for a method of an interface. */
  static final int OF_INTERFACE = 0;

  private static final int NO_FUNCTION = -1;

  /**
   * The existing proxy classes, each as the list of its interfaces' names. The key is the interface whose
   * loader has the class. The JVM keeps a proxy class as long as its loader, and so as long as the interface.
   */
  private static final Map<Class<?>, Set<List<String>>> CLASSES = new WeakHashMap<>();
  private static final Object CLASSES_LOCK = new Object();
  private static int classCount; // may still include classes of unloaded interfaces

  /** Sorted by name, so that the same interfaces have one class, in any order. */
  final Class<?>[] interfaces;
  final ClassLoader loader;
  private final Class<?> anchor; // its loader is `loader`
  @SuppressWarnings("unused")
  private final Class<?> context; // keeps the classes of the declared results loaded
  private final List<String> names;
  private boolean hasCounted; // this object has added the class to the count; with the lock

  /* A row for each method of the proxies; C copies this table. */
  private final Method[] methods;
  private final Class<?>[] results;
  private final boolean[] sent;
  private final boolean[] direct;
  private final int[] ofObject;

  private final Map<Method, Integer> indexes = new HashMap<>();

  /**
   * overrides: names of default methods, and of methods of Object, whose calls are sent to the client.
   * context: the class whose loader finds the further result types that C knows; null: there are none.
   */
  static CallbackKind make(Class<?>[] interfaces, String[] overrides, Class<?> context) throws NoSuchMethodException {
    for (Class<?> each : interfaces) {
      check(each);
    }
    return new CallbackKind(interfaces, findAnchor(interfaces), new HashSet<>(Arrays.asList(overrides)), context);
  }

  private CallbackKind(Class<?>[] interfaces, Class<?> anchor, Set<String> overrides, Class<?> context)
      throws NoSuchMethodException {
    this.interfaces = interfaces;
    this.anchor = anchor;
    this.context = context;
    loader = anchor.getClassLoader();
    List<String> all = new ArrayList<>();
    for (Class<?> each : interfaces) {
      all.add(each.getName());
    }
    names = List.copyOf(all);
    indexes.put(Object.class.getMethod("equals", Object.class), EQUALS);
    indexes.put(Object.class.getMethod("hashCode"), HASH_CODE);
    indexes.put(Object.class.getMethod("toString"), TO_STRING);
    Map<String, List<Method>> groups = new LinkedHashMap<>();
    for (Class<?> each : interfaces) {
      group(each, groups);
    }
    Map<Method, Integer> sentOfObject = new HashMap<>();
    for (Map.Entry<Method, Integer> each : indexes.entrySet()) {
      if (each.getValue() != FINALIZE && isOverridden(each.getKey(), overrides)) {
        sentOfObject.put(each.getKey(), each.getValue());
        groups.put(signature(each.getKey()), List.of(each.getKey()));
      }
    }
    methods = new Method[groups.size()];
    results = new Class<?>[methods.length];
    sent = new boolean[methods.length];
    direct = new boolean[methods.length];
    ofObject = new int[methods.length];
    Map<TypeVariable<?>, Type> bindings = bindings(interfaces);
    int index = 0;
    for (List<Method> group : groups.values()) {
      set(index, group, overrides, bindings);
      ofObject[index] = sentOfObject.getOrDefault(methods[index], OF_INTERFACE);
      index++;
    }
  }

  int indexOf(Method method) {
    Integer index = indexes.get(method);
    if (index == null) {
      throw new IllegalArgumentException("this callback has no method " + method);
    }
    return index;
  }

  boolean isSent(int index) {
    return sent[index];
  }

  /** EQUALS, HASH_CODE or TO_STRING if the row is that method and the client answers it. */
  int methodOfObject(int index) {
    return ofObject[index];
  }

  boolean isDirect(int index) {
    return direct[index];
  }

  Method method(int index) {
    return methods[index];
  }

  private static void check(Class<?> each) {
    String why = null;
    if (!each.isInterface()) {
      why = " is no interface";
    } else if (each.isSealed()) {
      why = " is sealed, so that nothing else can implement it";
    } else if (each.isHidden()) {
      why = " is a hidden interface, which no proxy can implement";
    }
    if (why != null) {
      throw new IllegalArgumentException(each.getTypeName() + why);
    }
  }

  /** The first interface whose loader finds all the interfaces. */
  private static Class<?> findAnchor(Class<?>[] interfaces) {
    for (Class<?> each : interfaces) {
      if (seesAll(each.getClassLoader(), interfaces)) {
        return each;
      }
    }
    throw new IllegalArgumentException("no class loader of these interfaces finds all of them");
  }

  private static boolean seesAll(ClassLoader loader, Class<?>[] interfaces) {
    for (Class<?> each : interfaces) {
      if (each.getClassLoader() != loader && !sees(loader, each)) {
        return false;
      }
    }
    return true;
  }

  private static boolean sees(ClassLoader loader, Class<?> wanted) {
    try {
      return Class.forName(wanted.getName(), false, loader) == wanted;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }

  /* ---- the proxy class ---- */

  /** False: the class does not exist yet and would exceed max (0: any number). */
  boolean admitClass(int max) {
    synchronized (CLASSES_LOCK) {
      Set<List<String>> ofAnchor = CLASSES.get(anchor);
      if (ofAnchor != null && ofAnchor.contains(names)) {
        return true;
      }
      if (max > 0 && classCount >= max) {
        classCount = 0;
        for (Set<List<String>> each : CLASSES.values()) {
          classCount += each.size();
        }
      }
      if (max > 0 && classCount >= max) {
        return false;
      }
      CLASSES.computeIfAbsent(anchor, unused -> new HashSet<>()).add(names);
      classCount++;
      hasCounted = true;
      return true;
    }
  }

  /** Undoes admitClass, because the class could not be made. */
  void forgetClass() {
    synchronized (CLASSES_LOCK) {
      Set<List<String>> ofAnchor = CLASSES.get(anchor);
      if (hasCounted && ofAnchor != null && ofAnchor.remove(names)) {
        classCount--;
      }
      hasCounted = false;
    }
  }

  /* ---- methods ---- */

  /** A call reports any of the interfaces with the method, so methods with the same signature are grouped. */
  private void group(Class<?> from, Map<String, List<Method>> groups) {
    for (Method method : from.getMethods()) {
      if (isFinalizer(method)) {
        indexes.put(method, FINALIZE);
      } else if (!Modifier.isStatic(method.getModifiers()) && !isOfObject(method)) {
        groups.computeIfAbsent(signature(method), unused -> new ArrayList<>()).add(method);
      }
    }
  }

  private static String signature(Method method) {
    return method.getName()
        + MethodType.methodType(method.getReturnType(), method.getParameterTypes()).toMethodDescriptorString();
  }

  /** A finalizer is never sent, because the collector would call it at any time, on its own thread. */
  private static boolean isFinalizer(Method method) {
    return method.getName().equals("finalize") && method.getParameterCount() == 0;
  }

  /** Proxies report such a method as a method of Object, whichever interface declares it. */
  private static boolean isOfObject(Method method) {
    switch (method.getName()) {
      case "equals":
        return Arrays.equals(method.getParameterTypes(), new Class<?>[] {Object.class});
      case "hashCode":
      case "toString":
        return method.getParameterCount() == 0;
      default:
        return false;
    }
  }

  private void set(int index, List<Method> group, Set<String> overrides, Map<TypeVariable<?>, Type> bindings) {
    Method method = mostSpecific(group);
    boolean isSettled = method != null;
    if (!isSettled) {
      method = group.get(0); // the method that a class would have to override
    }
    methods[index] = method;
    results[index] = resultOf(method, bindings);
    sent[index] = !isSettled || !method.isDefault() || !method.isBridge() && isOverridden(method, overrides);
    direct[index] = !sent[index] && isOpen(method.getDeclaringClass());
    for (Method each : group) {
      indexes.put(each, index);
    }
  }

  /** True if overrides has the method's name, or NAME/COUNT with the number of its parameters. */
  private static boolean isOverridden(Method method, Set<String> overrides) {
    return overrides.contains(method.getName())
        || overrides.contains(method.getName() + "/" + method.getParameterCount());
  }

  /**
   * True if Java itself runs a default method. Without a C frame on its stack a virtual thread can leave its
   * carrier. Java keeps data for each method that runs in this way, so the result is true only for interfaces
   * that are never unloaded.
   */
  private boolean isOpen(Class<?> declaring) {
    boolean isPermanent = loader == null || loader == ClassLoader.getPlatformClassLoader()
        || loader == ClassLoader.getSystemClassLoader();
    return isPermanent && interfaces.length == 1 && Modifier.isPublic(declaring.getModifiers())
        && declaring.getModule().isExported(declaring.getPackageName(), CallbackKind.class.getModule());
  }

  /** The method that overrides all others; null: none. */
  private static Method mostSpecific(List<Method> group) {
    for (Method method : group) {
      boolean isBelowAll = true;
      for (Method other : group) {
        isBelowAll = isBelowAll && other.getDeclaringClass().isAssignableFrom(method.getDeclaringClass());
      }
      if (isBelowAll) {
        return method;
      }
    }
    return null;
  }

  /* ---- types ---- */

  /** The types that subinterfaces have set for type variables. */
  private static Map<TypeVariable<?>, Type> bindings(Class<?>... interfaces) {
    Map<TypeVariable<?>, Type> bindings = new HashMap<>();
    for (Class<?> each : interfaces) {
      bind(each, bindings);
    }
    return bindings;
  }

  private static void bind(Class<?> below, Map<TypeVariable<?>, Type> bindings) {
    Type[] supers;
    try {
      supers = below.getGenericInterfaces();
    } catch (RuntimeException | LinkageError e) { // a type that cannot be loaded, or a malformed signature
      supers = below.getInterfaces();
    }
    for (Type each : supers) {
      if (each instanceof ParameterizedType) {
        ParameterizedType type = (ParameterizedType) each;
        TypeVariable<?>[] variables = ((Class<?>) type.getRawType()).getTypeParameters();
        Type[] arguments = type.getActualTypeArguments();
        for (int i = 0; i < variables.length && i < arguments.length; i++) {
          bindings.putIfAbsent(variables[i], arguments[i]);
        }
      }
      bind(erase(each, bindings), bindings);
    }
  }

  private static Class<?> erase(Type type, Map<TypeVariable<?>, Type> bindings) {
    if (type instanceof Class) {
      return (Class<?>) type;
    }
    if (type instanceof ParameterizedType) {
      return (Class<?>) ((ParameterizedType) type).getRawType();
    }
    if (type instanceof GenericArrayType) {
      return erase(((GenericArrayType) type).getGenericComponentType(), bindings).arrayType();
    }
    if (type instanceof WildcardType) {
      return erase(((WildcardType) type).getUpperBounds()[0], bindings);
    }
    TypeVariable<?> variable = (TypeVariable<?>) type;
    Type bound = bindings.get(variable);
    return erase(bound != null ? bound : variable.getBounds()[0], bindings);
  }

  private static Class<?> resultOf(Method method, Map<TypeVariable<?>, Type> bindings) {
    Class<?> declared = method.getReturnType();
    try {
      Class<?> resolved = erase(method.getGenericReturnType(), bindings);
      return declared.isAssignableFrom(resolved) ? resolved : declared;
    } catch (RuntimeException | LinkageError e) { // as above
      return declared;
    }
  }

  private static String parametersOf(Method method, Map<TypeVariable<?>, Type> bindings) {
    StringBuilder names = new StringBuilder();
    for (Type each : method.getGenericParameterTypes()) {
      names.append(erase(each, bindings).descriptorString());
    }
    return names.toString();
  }

  /* ---- functional interfaces ---- */

  /**
   * For a functional interface (JLS 9.8): twice the number of its function's parameters, plus 1 if the
   * function returns nothing. For any other interface: NO_FUNCTION.
   */
  static int functionOf(Class<?> type) {
    Method function = findFunction(type);
    if (function == null) {
      return NO_FUNCTION;
    }
    return 2 * function.getParameterCount() + (function.getReturnType() == void.class ? 1 : 0);
  }

  /** The name of that function; null: none. */
  static String functionNameOf(Class<?> type) {
    Method function = findFunction(type);
    return function == null ? null : function.getName();
  }

  private static Method findFunction(Class<?> type) {
    try {
      return type.isInterface() && !type.isSealed() ? searchFunction(type) : null;
    } catch (RuntimeException | LinkageError e) { // the signature names classes that cannot be loaded
      return null;
    }
  }

  private static Method searchFunction(Class<?> type) {
    Map<TypeVariable<?>, Type> bindings = bindings(type);
    Method function = null;
    for (Method method : type.getMethods()) {
      if (!Modifier.isAbstract(method.getModifiers()) || isOfObject(method)) {
        continue;
      }
      if (function != null && !isSame(function, method, bindings)) {
        return null;
      }
      function = method;
    }
    return function;
  }

  private static boolean isSame(Method one, Method other, Map<TypeVariable<?>, Type> bindings) {
    return one.getName().equals(other.getName())
        && parametersOf(one, bindings).equals(parametersOf(other, bindings));
  }
}
