package jpeer.peer;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.Charset;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * Finds what is to be run, without running any of it. A java.lang.Exception from here is told to the user by
 * its message alone.
 */
final class Start {
  private Start() {
  }

  /** Bytes of the command line, in the encoding of the locale. */
  static String decode(byte[] bytes) {
    String name = System.getProperty("sun.jnu.encoding", "");
    return new String(bytes, Charset.isSupported(name) ? Charset.forName(name) : Charset.defaultCharset());
  }

  /** The value of Main-Class in the jar's manifest. */
  static String mainClassOfJar(String path) throws Exception {
    Manifest manifest;
    try (JarFile jar = new JarFile(path)) {
      manifest = jar.getManifest();
    } catch (IOException e) {
      throw new Exception("cannot read the jar " + path + ": " + e);
    }
    String name = manifest == null ? null : manifest.getMainAttributes().getValue(Attributes.Name.MAIN_CLASS);
    if (name == null || name.isBlank()) {
      throw new Exception("the jar " + path + " has no Main-Class in its manifest");
    }
    return name.trim();
  }

  /** The class, loaded and not initialised, with a main that java 17 would run. */
  static Class<?> mainClass(String written) throws Exception {
    String name = written.replace('/', '.');
    try {
      Class<?> main = Class.forName(name, false, ClassLoader.getSystemClassLoader());
      checkMain(main);
      return main;
    } catch (ClassNotFoundException e) {
      throw new Exception("main class " + name + " not found");
    } catch (LinkageError e) {
      throw new Exception("main class " + name + " cannot be loaded: " + e);
    }
  }

  private static void checkMain(Class<?> main) throws Exception {
    Method method;
    try {
      method = main.getMethod("main", String[].class);
    } catch (NoSuchMethodException e) {
      throw new Exception("class " + main.getName() + " has no public static void main(String[])");
    }
    if (!Modifier.isStatic(method.getModifiers()) || method.getReturnType() != void.class) {
      throw new Exception("main(String[]) of class " + main.getName() + " is not public static void");
    }
  }
}
