package client;

import static client.Structs.constructor;
import static client.Structs.method;
import static client.Structs.value;

import jpeer.Reflectable;
import jpeer.Throwable;

/** Throwables of called code, and those that the peer makes for requests that it cannot run. */
final class Throwables extends Suite {
  private static final String THROWABLES = "fixtures.Throwables";

  Throwables(String address) {
    super(address);
  }

  private static Reflectable from(String name) {
    return method(THROWABLES, name, 9);
  }

  private static void checkFrames(Throwable throwable, String... beginnings) {
    String[] frames = throwable.stackTraceElements;
    Check.that(frames.length >= beginnings.length, "only " + frames.length + " frames");
    for (int i = 0; i < beginnings.length; i++) {
      Check.that(frames[i].matches(".*fixtures\\.Throwables.*\\(Throwables\\.java:\\d+\\)"),
          "frame " + i + " is " + frames[i]);
      Check.contains(beginnings[i], frames[i], "frame " + i);
    }
  }

  public void thrownByTheMachine() {
    Throwable thrown = client.call(THROWABLES, "divide", value("int", "1"), value("int", "0"))
                           .raises("java.lang.ArithmeticException", "/ by zero", from("divide"));
    checkFrames(thrown, "fixtures.Throwables.divide");
  }

  public void withoutMessage() {
    client.call(THROWABLES, "withoutMessage").raises("java.lang.IllegalStateException", "", from("withoutMessage"));
  }

  public void withMessageBeyondAscii() {
    client.call(THROWABLES, "plain", value("java.lang.String", "\"\u00e4\ud83d\ude00\""))
        .raises("java.lang.IllegalStateException", "\u00e4\ud83d\ude00", from("plain"));
  }

  /** Colfer's texts are UTF-8, which has no lone surrogates. */
  public void withLoneSurrogate() {
    client.call(THROWABLES, "plain", value("java.lang.String", "\"a\\ud800b\""))
        .raises("java.lang.IllegalStateException", "a\ufffdb", from("plain"));
  }

  public void checkedAndError() {
    client.call(THROWABLES, "checked").raises("java.io.IOException", "checked", from("checked"));
    client.call(THROWABLES, "error").raises("java.lang.AssertionError", "an error", from("error"));
    client.call(THROWABLES, "outOfMemory").raises("java.lang.OutOfMemoryError", "pretended", from("outOfMemory"));
  }

  public void nestedCauses() {
    Throwable outer = client.call(THROWABLES, "nested").raised(from("nested"));
    Reply.checkThrowable("java.lang.UnsupportedOperationException", "outer", outer);
    checkFrames(outer, "fixtures.Throwables.nested");
    Reply.checkThrowable("java.lang.IllegalArgumentException", "middle", outer.cause);
    checkFrames(outer.cause, "fixtures.Throwables.nested");
    Reply.checkThrowable("java.lang.IllegalStateException", "inner", outer.cause.cause);
    checkFrames(outer.cause.cause, "fixtures.Throwables.plain", "fixtures.Throwables.nested");
    Check.equal(null, outer.cause.cause.cause, "the innermost cause");
  }

  public void cyclicCauses() {
    Throwable first = client.call(THROWABLES, "cyclic").raised(from("cyclic"));
    Reply.checkThrowable("java.lang.IllegalStateException", "first", first);
    Reply.checkThrowable("java.lang.IllegalStateException", "second", first.cause);
    Check.equal(null, first.cause.cause, "the cause of the second");
  }

  public void hostile() {
    client.call(THROWABLES, "hostileMessage").raised(from("hostileMessage"));
    client.call(THROWABLES, "hostileCause").raised(from("hostileCause"));
  }

  public void inConstructor() {
    String type = "fixtures.Throwables$FailsToConstruct";
    client.create(type).raises("java.lang.IllegalStateException", "constructor failed", constructor(type));
  }

  public void inInitializer() {
    String type = "fixtures.Throwables$FailsToInitialize";
    Throwable first = client.call(type, "value").raised(method(type, "value", 9));
    Reply.checkThrowable("java.lang.ExceptionInInitializerError", "", first);
    Reply.checkThrowable("java.lang.IllegalStateException", "initialiser failed", first.cause);
    Throwable second = client.call(type, "value").raised(method(type, "value", 9));
    Check.equal("java.lang.NoClassDefFoundError", second.Type, "the throwable");
  }

  public void noSuchMember() {
    client.call("fixtures.Calculator", "multiply", value("int", "1"))
        .refuses("java.lang.NoSuchMethodException", "No matching method 'multiply' found", null);
    client.create("fixtures.User", value("int", "1"))
        .refuses("java.lang.NoSuchMethodException", "No matching constructor found", null);
    client.call("fixtures.NoSuchClass", "method").refuses("java.lang.ClassNotFoundException", "", null);
  }

  public void noSuchInstance() {
    client.callOn(999_999, "fixtures.User", "getName")
        .refuses("java.lang.NullPointerException", "No object found with objRef: 999999", null);
    client.call("fixtures.Arguments", "echoObject", Structs.ref(999_999))
        .refuses("java.lang.NullPointerException", "No object found with objRef: 999999", null);
  }

  public void argumentsThatDoNotConvert() {
    for (String json : new String[] {"300", "\"x\"", "1.5", "[1]"}) {
      Throwable thrown = client.call("fixtures.Arguments", "echoByte", value("byte", json))
                             .raised(method("fixtures.Arguments", "echoByte", 9));
      Check.equal("java.lang.IllegalArgumentException", thrown.Type, "the throwable");
      Check.contains("argument 0", thrown.message, "its message");
    }
  }
}
