package jpeer.peer;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * Finds the main class, without running any of its code. For a java.lang.Exception, C shows the user only the
 * message, and likewise for a ClassNotFoundException, which means that the main class does not exist.
 */
final class Start {
  private Start() {
  }

  /** Decodes bytes of the command line in the encoding of the locale. */
  static String decode(byte[] bytes) {
    String name = System.getProperty("sun.jnu.encoding", "");
    return new String(bytes, Charset.isSupported(name) ? Charset.forName(name) : Charset.defaultCharset());
  }

  /** The value of Main-Class in the jar's manifest. */
  static String mainClassOfJar(String path) throws Exception {
    String name = attributeOfJar(path, "Main-Class");
    if (name == null || name.isBlank()) {
      throw new Exception("the jar " + path + " has no Main-Class in its manifest");
    }
    return name.trim();
  }

  /**
   * The packages of Add-Exports in the jar's manifest: a module, the name of a package in it, and so on. Like
   * the java command, this skips packages that do not exist.
   */
  static Object[] exportsOfJar(String path) throws Exception {
    return packages(attributeOfJar(path, "Add-Exports"));
  }

  /** The same as exportsOfJar, for Add-Opens. */
  static Object[] opensOfJar(String path) throws Exception {
    return packages(attributeOfJar(path, "Add-Opens"));
  }

  private static String attributeOfJar(String path, String name) throws Exception {
    try (JarFile jar = new JarFile(path)) {
      Manifest manifest = jar.getManifest();
      return manifest == null ? null : manifest.getMainAttributes().getValue(name);
    } catch (IOException e) {
      throw new Exception("cannot read the jar " + path + ": " + e);
    }
  }

  private static Object[] packages(String words) {
    List<Object> found = new ArrayList<>();
    for (String word : words == null ? new String[0] : words.trim().split("\\s+")) {
      int slash = word.indexOf('/');
      String name = word.substring(slash + 1);
      Module module = ModuleLayer.boot().findModule(word.substring(0, Math.max(slash, 0))).orElse(null);
      if (module != null && module.getPackages().contains(name)) {
        found.add(module);
        found.add(name);
      }
    }
    return found.toArray();
  }

  /**
   * Loads the class of this name without initialising it, and checks that it has a main that java would
   * run.
   */
  static Class<?> mainClass(String written) throws Exception {
    String name = written.replace('/', '.');
    try {
      Class<?> main = Class.forName(name, false, ClassLoader.getSystemClassLoader());
      checkMain(main);
      return main;
    } catch (ClassNotFoundException e) {
      throw new ClassNotFoundException("main class " + name + " not found");
    } catch (LinkageError e) {
      throw new Exception("main class " + name + " cannot be loaded: " + e);
    }
  }

  /** The same as mainClass, for MODULE or MODULE/CLASS, a module of the boot layer. */
  static Class<?> mainClassOfModule(String written) throws Exception {
    int slash = written.indexOf('/');
    String moduleName = slash < 0 ? written : written.substring(0, slash);
    Module module = ModuleLayer.boot().findModule(moduleName).orElse(null);
    if (module == null) { // the JVM ends by itself if its main module does not exist
      throw new Exception("module " + moduleName + " not found");
    }
    String name = slash < 0 ? module.getDescriptor().mainClass().orElse(null) : written.substring(slash + 1);
    if (name == null) {
      throw new Exception("module " + moduleName + " names no main class: -m " + moduleName + "/CLASS does");
    }
    Class<?> main;
    try {
      main = Class.forName(module, name);
    } catch (LinkageError e) {
      throw new Exception("main class " + name + " in module " + moduleName + " cannot be loaded: " + e);
    }
    if (main == null) {
      throw new ClassNotFoundException("main class " + name + " not found in module " + moduleName);
    }
    checkMain(main);
    System.setProperty("jdk.module.main.class", main.getName());
    return main;
  }

  /** Java 25 runs a main that is not public, not static or without parameters (JLS 25, 12.1.4). */
  private static final int FREE_MAINS_SINCE = 25;

  /** Bits of mainKind. */
  private static final int HAS_ARGUMENTS = 1;
  private static final int IS_STATIC = 2;

  /**
   * The form of the main that java runs in a class from mainClass: HAS_ARGUMENTS, IS_STATIC, both or
   * neither.
   */
  static int mainKind(Class<?> main) {
    Method method = findMain(main);
    return (method.getParameterCount() == 1 ? HAS_ARGUMENTS : 0)
        | (Modifier.isStatic(method.getModifiers()) ? IS_STATIC : 0);
  }

  private static void checkMain(Class<?> main) throws Exception {
    Method method = findMain(main);
    if (method == null) {
      throw new Exception("class " + main.getName() + " has no public static void main(String[])");
    }
    int modifiers = method.getModifiers();
    boolean isFree = Runtime.version().feature() >= FREE_MAINS_SINCE;
    if (method.getReturnType() != void.class || !isFree && !Modifier.isStatic(modifiers)) {
      throw new Exception("main(String[]) of class " + main.getName() + " is not public static void");
    }
    if (!Modifier.isStatic(modifiers)) {
      checkConstructor(main);
    }
  }

  private static void checkConstructor(Class<?> main) throws Exception {
    try {
      if (!Modifier.isAbstract(main.getModifiers())
          && !Modifier.isPrivate(main.getDeclaredConstructor().getModifiers())) {
        return;
      }
    } catch (NoSuchMethodException e) {
      // reported below
    }
    throw new Exception("main of class " + main.getName() + " is not static, and no constructor without arguments "
        + "makes an object for it");
  }

  private static Method findMain(Class<?> main) {
    try {
      return main.getMethod("main", String[].class);
    } catch (NoSuchMethodException e) {
      if (Runtime.version().feature() < FREE_MAINS_SINCE) {
        return null;
      }
    }
    Method method = findFreeMain(main, String[].class);
    return method != null ? method : findFreeMain(main);
  }

  /** The first method of this form that the class declares or inherits. */
  private static Method findFreeMain(Class<?> main, Class<?>... parameters) {
    for (Class<?> at = main; at != null; at = at.getSuperclass()) {
      for (Method method : at.getDeclaredMethods()) {
        int modifiers = method.getModifiers();
        boolean isHidden = Modifier.isPrivate(modifiers)
            || at != main && (modifiers & (Modifier.PUBLIC | Modifier.PROTECTED)) == 0
                && !at.getPackageName().equals(main.getPackageName());
        if (method.getName().equals("main") && Arrays.equals(method.getParameterTypes(), parameters) && !isHidden
            && method.getReturnType() == void.class) {
          return method;
        }
      }
    }
    return null;
  }
}
