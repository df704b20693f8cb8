package client;

import static client.Client.ref;
import static client.Client.value;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Objects;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.MetaMessage;
import jpeer.Obj;
import jpeer.Throwable;

/**
 * A check of each kind of message: usage: Checks ADDRESS. They test this client, its socket and the generated codec;
 * tests/integration/test_binary.py and the conformance cases test the replies.
 */
public final class Checks {
  private static final String LIST = "java.util.ArrayList";
  private static final String FIELDS = "fixtures.Fields";

  private final Client client;

  private Checks(Client client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws ReflectiveOperationException {
    int passed = 0;
    int failed = 0;
    for (Method check : Checks.class.getDeclaredMethods()) {
      if (!check.getName().startsWith("check")) {
        continue;
      }
      try (Client client = new Client(arguments[0])) {
        check.invoke(new Checks(client));
        passed++;
      } catch (InvocationTargetException e) {
        failed++;
        System.out.println("failed: " + check.getName() + ": " + e.getCause());
      }
    }
    System.out.println(passed + " passed, " + failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }

  static void that(boolean holds, String complaint) {
    if (!holds) {
      throw new AssertionError(complaint);
    }
  }

  static void equal(Object expected, Object actual) {
    that(Objects.equals(expected, actual), actual + " is not " + expected);
  }

  private static void returns(String type, String json, ExecMessage reply) {
    equal(type, reply.returnValue.object.clazz.name);
    equal(json, reply.returnValue.object.value);
  }

  private int create(String type) {
    ExecMessage reply = client.create(type);
    equal(type, reply.returnValue.from.constructor.clazz.name);
    return reply.returnValue.object.ref;
  }

  void checkObjectsAndTheirMethods() {
    int list = create(LIST);
    returns("boolean", "true", client.callOn(list, LIST, "add", value("java.lang.String", "\"Alice\"")));
    returns("boolean", "true", client.callOn(list, LIST, "containsAll", ref(list)));
  }

  void checkMethodsOfClasses() {
    for (int i = 0; i < 500; i++) {
      Obj number = value("int", String.valueOf(i));
      returns("int", String.valueOf(i + 1), client.call("fixtures.Calculator", "add", number, value("int", "1")));
    }
    equal(true, client.call("fixtures.Members", "staticNothing").returnValue.isVoid);
  }

  void checkValuesThereAndBack() {
    for (String text : new String[] {"", "a \\\"b\\\" \\\\ c", "\u00e4\u20ac\ud83d\ude00", "a\\ud800b", "x".repeat(127),
             "y".repeat(128), "\u00e4".repeat(100_000)}) {
      String json = "\"" + text + "\"";
      Obj string = value("java.lang.String", json);
      returns("java.lang.String", json, client.call("fixtures.Arguments", "echoString", string));
    }
    Obj nothing = new Obj().withClazz(Client.named("java.lang.Integer")).withIsNull(true);
    equal(nothing, client.call("fixtures.Arguments", "echoBoxedInt", nothing).returnValue.object);
  }

  void checkFields() {
    int object = create(FIELDS);
    ExecMessage put = client.put(FIELDS, "aStatic", value("int", "5"));
    equal(client.lastId, put.staticFieldPutDone.staticFieldPutId);
    returns("int", "5", client.get(FIELDS, "aStatic"));
    put = client.putOf(object, FIELDS, "aString", value("java.lang.String", "\"new\""));
    equal(client.lastId, put.instanceFieldPutDone.instanceFieldPutId);
    returns("java.lang.String", "\"new\"", client.getOf(object, FIELDS, "aString"));
  }

  void checkThrowables() {
    Throwable outer = client.call("fixtures.Throwables", "nested").raisedThrowable.throwable;
    equal("java.lang.UnsupportedOperationException", outer.Type);
    equal("inner", outer.cause.cause.message);
    equal(null, outer.cause.cause.cause);
    that(outer.stackTraceElements[0].startsWith("fixtures.Throwables."), outer.stackTraceElements[0]);
  }

  void checkControlMessages() {
    int list = create(LIST);
    equal((byte) 1, client.control(1, ref(list)).status);
    ControlMessage again = client.control(1, ref(list));
    equal("6 No such object: " + list, again.status + " " + again.body);
  }

  void checkMetaMessages() {
    Obj named = value("[Ljava.lang.String;", "[\"fixtures.Calculator\"]");
    MetaMessage reply = client.meta(1, value("boolean", "false"), new Obj(), new Obj(), named);
    equal((byte) 1, reply.status);
    that(reply.body.startsWith("[{\"className\":\"fixtures.Calculator\""), reply.body);
  }
}
