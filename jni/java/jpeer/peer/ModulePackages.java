package jpeer.peer;

import java.util.HashSet;
import java.util.Set;

/**
 * The packages of the modules that the JVM has started with: their classes are not searched on the class
 * path.
 */
final class ModulePackages {
  private static final Set<String> NAMES = new HashSet<>();

  static {
    for (Module module : ModuleLayer.boot().modules()) {
      NAMES.addAll(module.getPackages());
    }
  }

  private ModulePackages() {
  }

  static boolean has(String name) {
    return NAMES.contains(name);
  }
}
