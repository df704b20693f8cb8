package jpeer.members;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Class loaders of the application's own. */
public final class Loaders {
  private static final List<WeakReference<ClassLoader>> MADE = new ArrayList<>();

  private Loaders() {}

  /** Defines Twin itself, under a name of as many letters. */
  private static final class Own extends ClassLoader {
    private final String name;

    Own(String name) {
      super(Loaders.class.getClassLoader());
      this.name = name;
      MADE.add(new WeakReference<>(this));
    }

    @Override
    protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
      if (!wanted.equals("jpeer.members." + name)) {
        return super.loadClass(wanted, resolve);
      }
      Class<?> loaded = findLoadedClass(wanted);
      return loaded != null ? loaded : define(wanted);
    }

    private Class<?> define(String wanted) throws ClassNotFoundException {
      try (InputStream in = Loaders.class.getResourceAsStream("Twin.class")) {
        String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
        byte[] bytes =
            text.replace("members/Twin", "members/" + name).getBytes(StandardCharsets.ISO_8859_1);
        return defineClass(wanted, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(wanted, e);
      }
    }
  }

  public static Object twin() throws Exception {
    return make("Twin");
  }

  /** Of a class that the application's loader does not know. */
  public static Object only() throws Exception {
    return make("Only");
  }

  private static Object make(String name) throws Exception {
    return new Own(name).loadClass("jpeer.members." + name).getConstructor().newInstance();
  }

  /** How many of the loaders the collector cannot take. */
  public static int alive() throws InterruptedException {
    int alive = MADE.size();
    for (int i = 0; i < 50 && alive > 0; i++) {
      System.gc();
      Thread.sleep(2);
      alive = (int) MADE.stream().filter(reference -> reference.get() != null).count();
    }
    return alive;
  }
}
