package jpeer.members;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Interfaces of class loaders of their own. */
public final class Faces {
  private static final List<WeakReference<ClassLoader>> MADE = new ArrayList<>();

  private Faces() {}

  /** Defines Face itself, under a name of as many letters. */
  private static final class Own extends ClassLoader {
    private final String own;

    Own(String own) {
      super(own, Faces.class.getClassLoader());
      this.own = own;
      MADE.add(new WeakReference<>(this));
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.equals("jpeer.members." + own)) {
        return super.loadClass(name, resolve);
      }
      Class<?> loaded = findLoadedClass(name);
      return loaded != null ? loaded : define(name);
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (InputStream in = Faces.class.getResourceAsStream("Face.class")) {
        String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
        byte[] bytes = text.replace("members/Face", "members/" + own).getBytes(StandardCharsets.ISO_8859_1);
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  /** Loads the interface, too. */
  public static Class<?> make(String name) throws ClassNotFoundException {
    return new Own(name).loadClass("jpeer.members." + name);
  }

  /** How many of the loaders the collector cannot take. */
  public static int alive() throws InterruptedException {
    int alive = MADE.size();
    for (int i = 0; i < 100 && alive > 0; i++) {
      System.gc();
      Thread.sleep(2);
      alive = (int) MADE.stream().filter(reference -> reference.get() != null).count();
    }
    return alive;
  }

  public static String loaderOf(Object proxy) {
    ClassLoader loader = proxy.getClass().getClassLoader();
    return loader == null ? "boot" : loader.getName();
  }

  public static String call(Object face, String method) throws Exception {
    Class<?> type = face.getClass().getInterfaces()[0];
    return type.getMethod(method).invoke(face) + " of " + type.getClassLoader().getName();
  }
}
