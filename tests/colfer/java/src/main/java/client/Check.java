package client;

import java.util.Objects;

/** What has to be so; an AssertionError says what was not. */
final class Check {
  private Check() {}

  static void that(boolean holds, String complaint) {
    if (!holds) {
      throw new AssertionError(complaint);
    }
  }

  static void equal(Object expected, Object actual, String what) {
    if (!Objects.equals(expected, actual)) {
      throw new AssertionError(what + ": " + Structs.show(actual) + " is not " + Structs.show(expected));
    }
  }

  static void begins(String beginning, String actual, String what) {
    that(actual.startsWith(beginning), what + ": \"" + actual + "\" does not begin with \"" + beginning + "\"");
  }

  static void contains(String part, String actual, String what) {
    that(actual.contains(part), what + ": \"" + actual + "\" does not contain \"" + part + "\"");
  }
}
