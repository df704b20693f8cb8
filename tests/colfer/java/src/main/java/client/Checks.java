package client;

import static client.Client.ref;
import static client.Client.value;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import jpeer.ColferStruct;
import jpeer.Message;
import jpeer.Obj;

/**
 * A check of each kind of message: usage: Checks ADDRESS. Each compares the whole reply as a text, so that every field is
 * looked at, and none may be there that should not; its two ids are looked at by themselves.
 */
public final class Checks {
  private static final String USER = "fixtures.User";
  private static final String FIELDS = "fixtures.Fields";
  private static final String LIST = "java.util.ArrayList";
  private static final String FRAMES = "\\[(\"fixtures\\.Throwables\\.\\w+\\(Throwables\\.java:\\d+\\)\")[^]]*]";
  private static final Set<String> SEEN_IDS = new HashSet<>();

  private final Client client;

  private Checks(Client client) {
    this.client = client;
  }

  public static void main(String[] arguments) throws ReflectiveOperationException {
    int passed = 0;
    int failed = 0;
    for (Method check : Checks.class.getDeclaredMethods()) {
      if (check.getModifiers() != Modifier.PUBLIC) {
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

  /** A struct as a text: fields with their zero value are left out. */
  private static String show(Object value) {
    if (value instanceof ColferStruct) {
      List<String> members = new ArrayList<>();
      for (Field field : value.getClass().getFields()) {
        String member = Modifier.isStatic(field.getModifiers()) ? "" : show(read(field, value));
        if (!List.of("", "0", "false", "\"\"", "null", "[]").contains(member)) {
          members.add(field.getName() + ": " + member);
        }
      }
      return "{" + String.join(", ", members) + "}";
    }
    if (value != null && value.getClass().isArray()) {
      List<String> elements = new ArrayList<>();
      for (int i = 0; i < Array.getLength(value); i++) {
        elements.add(show(Array.get(value, i)));
      }
      return elements.toString();
    }
    return value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
  }

  private static Object read(Field field, Object of) {
    try {
      return field.get(of);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The reply has an id of its own, is to the last request, and says that. Stack traces count by their first frame. */
  private void is(int type, String part, String expected, Message reply) {
    String ids = "messageId: \"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\", responseToId: \"" + client.lastId + "\"";
    String shown = show(reply).replaceAll(FRAMES, "[fixtures...]");
    String id = shown.replaceFirst(".*?" + ids + ".*", "$1");
    String wanted = "{messageType: " + type + ", " + part + ": {IDS, " + expected + "}}";
    shown = shown.replaceFirst(ids, "IDS");
    that(shown.equals(wanted), shown + " is not " + wanted);
    that(SEEN_IDS.add(id), "messageId: " + id + " came before");
  }

  private void returns(Obj object, String from, Message reply) {
    is(11, "execMessage", "returnValue: {object: " + show(object) + ", from: {" + from + "}}", reply);
  }

  /** An object that comes as its ref, and with that text; gives the ref. */
  private int returnsRef(String type, String text, String from, Message reply) {
    that(reply.execMessage != null && reply.execMessage.returnValue != null, show(reply));
    int ref = reply.execMessage.returnValue.object.ref;
    that(ref > 0, "no ref: " + show(reply));
    returns(value(type, text).withRef(ref), from, reply);
    return ref;
  }

  private int creates(String type, String text, Obj... args) {
    return returnsRef(type, text, "constructor: {clazz: {name: \"" + type + "\"}}", client.create(type, args));
  }

  private static String member(String kind, String type, String name, int modifiers) {
    return kind + ": {clazz: {name: \"" + type + "\"}, name: \"" + name + "\", modifiers: " + modifiers + "}";
  }

  private static String method(String type, String name) {
    return member("method", type, name, Modifier.PUBLIC);
  }

  private static String staticMethod(String type, String name) {
    return member("method", type, name, Modifier.PUBLIC | Modifier.STATIC);
  }

  public void objectsAndTheirMethods() {
    Obj name = value("java.lang.String", "\"Alice\"");
    int user = creates(USER, "", name, value("int", "30"));
    returns(name, method(USER, "getName"), client.callOn(user, USER, "getName"));
    Obj same = ref(user).withClazz(Client.named(USER));
    returns(value("boolean", "true"), method(USER, "sameAs"), client.callOn(user, USER, "sameAs", same));
    int list = creates(LIST, "[]");
    returns(value("boolean", "true"), method("java.util.AbstractCollection", "containsAll"),
        client.callOn(list, LIST, "containsAll", ref(list)));
  }

  public void methodsOfClasses() {
    for (int i = 0; i < 500; i++) {
      returns(value("int", String.valueOf(i + 1)), staticMethod("fixtures.Calculator", "add"),
          client.call("fixtures.Calculator", "add", value("int", String.valueOf(i)), value("int", "1")));
    }
    String nothing = "returnValue: {isVoid: true, from: {" + staticMethod("fixtures.Members", "staticNothing") + "}}";
    is(11, "execMessage", nothing, client.call("fixtures.Members", "staticNothing"));
  }

  public void valuesThereAndBack() {
    for (String text : new String[] {"", "a \\\"b\\\" \\\\ c", "\u00e4\u20ac\ud83d\ude00", "a\\ud800b", "x".repeat(127),
             "y".repeat(128), "\u00e4".repeat(100_000)}) {
      Obj string = value("java.lang.String", "\"" + text + "\"");
      returns(string, staticMethod("fixtures.Arguments", "echoString"),
          client.call("fixtures.Arguments", "echoString", string));
    }
    returnsRef("[I", "[1,-2,2147483647]", staticMethod("fixtures.Arguments", "echoInts"),
        client.call("fixtures.Arguments", "echoInts", value("[I", "[1,-2,2147483647]")));
    Obj nothing = new Obj().withClazz(Client.named("java.lang.Integer")).withIsNull(true);
    returns(nothing, staticMethod("fixtures.Arguments", "echoBoxedInt"),
        client.call("fixtures.Arguments", "echoBoxedInt", nothing));
  }

  public void fields() {
    String ofClass = member("field", FIELDS, "aStatic", Modifier.PUBLIC | Modifier.STATIC);
    String ofObject = member("field", FIELDS, "aString", Modifier.PUBLIC);
    Obj five = value("int", "5");
    Obj text = value("java.lang.String", "\"new\"");
    int object = creates(FIELDS, "");
    Message put = client.put(FIELDS, "aStatic", five);
    String done = ", staticFieldPutId: \"" + client.lastId + "\"}";
    is(8, "execMessage", "staticFieldPutDone: {" + ofClass + done, put);
    returns(five, ofClass, client.get(FIELDS, "aStatic"));
    put = client.putOf(object, FIELDS, "aString", text);
    done = ", instanceFieldPutId: \"" + client.lastId + "\"}";
    is(9, "execMessage", "instanceFieldPutDone: {" + ofObject + done, put);
    returns(text, ofObject, client.getOf(object, FIELDS, "aString"));
  }

  public void throwables() {
    String frames = "stackTraceElements: [fixtures...]";
    is(10, "execMessage", "raisedThrowable: {from: {" + staticMethod("fixtures.Throwables", "nested") + "}, modifiers: 9, "
        + "throwable: {Type: \"java.lang.UnsupportedOperationException\", message: \"outer\", " + frames + ", "
        + "cause: {Type: \"java.lang.IllegalArgumentException\", message: \"middle\", " + frames + ", "
        + "cause: {Type: \"java.lang.IllegalStateException\", message: \"inner\", " + frames + "}}}}",
        client.call("fixtures.Throwables", "nested"));
  }

  public void controlMessages() {
    int list = creates(LIST, "[]");
    is(32, "controlMessage", "command: 4, status: 1", client.control(4));
    is(32, "controlMessage", "command: 1, status: 1", client.control(1, ref(list)));
    is(32, "controlMessage", "command: 1, status: 6, body: \"No such object: " + list + "\"",
        client.control(1, ref(list)));
    is(32, "controlMessage", "command: 99, status: 4, body: \"Unknown control command: 99\"", client.control(99));
  }

  public void metaMessages() {
    Obj named = value("[Ljava.lang.String;", "[\"fixtures.Calculator\"]");
    Message reply = client.meta(1, value("boolean", "false"), new Obj(), new Obj(), named);
    that(reply.metaMessage != null && reply.metaMessage.body.startsWith("[{\"className\":\"fixtures.Calculator\""),
        show(reply));
    is(61, "metaMessage", "service: 1, status: 1, body: " + show(reply.metaMessage.body), reply);
  }
}
