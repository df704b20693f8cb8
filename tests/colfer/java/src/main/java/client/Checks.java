package client;

import static client.Structs.constructor;
import static client.Structs.field;
import static client.Structs.fieldOf;
import static client.Structs.method;
import static client.Structs.named;
import static client.Structs.ref;
import static client.Structs.value;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.InstanceFieldPutDone;
import jpeer.Message;
import jpeer.MetaMessage;
import jpeer.Obj;
import jpeer.RaisedThrowable;
import jpeer.Reflectable;
import jpeer.ReturnValue;
import jpeer.StaticFieldPutDone;
import jpeer.Throwable;

/**
 * A check of each kind of message: usage: Checks ADDRESS. Each makes the whole reply that is expected and compares it,
 * so that every field is looked at, and none may be there that should not; what cannot be known before is taken from
 * the reply, and looked at by itself.
 */
public final class Checks {
  private static final int PUBLIC = Modifier.PUBLIC;
  private static final int PUBLIC_STATIC = Modifier.PUBLIC | Modifier.STATIC;
  private static final String USER = "fixtures.User";
  private static final String FIELDS = "fixtures.Fields";
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

  static void equal(Object expected, Object actual, String what) {
    that(Objects.equals(expected, actual), what + ": " + Structs.show(actual) + " is not " + Structs.show(expected));
  }

  private static String newId(String id) {
    that(id.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "messageId: " + id + " is no UUID");
    that(SEEN_IDS.add(id), "messageId: " + id + " came before");
    return id;
  }

  private void is(int type, ExecMessage expected, Message reply) {
    that(reply.execMessage != null, "the reply has no execMessage: " + Structs.show(reply));
    expected.withMessageId(newId(reply.execMessage.messageId)).withResponseToId(client.lastId);
    equal(new Message().withMessageType((byte) type).withExecMessage(expected), reply, "the reply");
  }

  private void returns(Obj object, Reflectable from, Message reply) {
    is(Client.RETURN_VALUE, new ExecMessage().withReturnValue(new ReturnValue().withObject(object).withFrom(from)),
        reply);
  }

  /** An object that comes as its ref, and with that text; gives the ref. */
  private int returnsRef(String type, String text, Reflectable from, Message reply) {
    Obj object = reply.execMessage == null || reply.execMessage.returnValue == null
        ? null
        : reply.execMessage.returnValue.object;
    that(object != null && object.ref > 0, "no ref: " + Structs.show(reply));
    returns(new Obj().withClazz(named(type)).withValue(text).withRef(object.ref), from, reply);
    return object.ref;
  }

  private void controls(int command, int status, String body, Message reply) {
    ControlMessage expected = new ControlMessage()
                                  .withMessageId(newId(reply.controlMessage.messageId))
                                  .withResponseToId(client.lastId)
                                  .withCommand((byte) command)
                                  .withStatus((byte) status)
                                  .withBody(body);
    equal(
        new Message().withMessageType((byte) Client.CONTROL_RESPONSE).withControlMessage(expected), reply, "the reply");
  }

  public void objectsAndTheirMethods() {
    int user = returnsRef(
        USER, "", constructor(USER), client.create(USER, value("java.lang.String", "\"Alice\""), value("int", "30")));
    returns(
        value("java.lang.String", "\"Alice\""), method(USER, "getName", PUBLIC), client.callOn(user, USER, "getName"));
    returns(
        value("boolean", "true"), method(USER, "sameAs", PUBLIC), client.callOn(user, USER, "sameAs", ref(USER, user)));
    int list = returnsRef(
        "java.util.ArrayList", "[]", constructor("java.util.ArrayList"), client.create("java.util.ArrayList"));
    returns(value("boolean", "true"), method("java.util.AbstractCollection", "containsAll", PUBLIC),
        client.callOn(list, "java.util.ArrayList", "containsAll", ref(list)));
  }

  public void methodsOfClasses() {
    for (int i = 0; i < 500; i++) {
      returns(value("int", String.valueOf(i + 1)), method("fixtures.Calculator", "add", PUBLIC_STATIC),
          client.call("fixtures.Calculator", "add", value("int", String.valueOf(i)), value("int", "1")));
    }
    ReturnValue nothing =
        new ReturnValue().withIsVoid(true).withFrom(method("fixtures.Members", "staticNothing", PUBLIC_STATIC));
    is(Client.RETURN_VALUE, new ExecMessage().withReturnValue(nothing),
        client.call("fixtures.Members", "staticNothing"));
  }

  public void valuesThereAndBack() {
    Reflectable echo = method("fixtures.Arguments", "echoString", PUBLIC_STATIC);
    for (String text : new String[] {"", "a \\\"b\\\" \\\\ c", "\u00e4\u20ac\ud83d\ude00", "a\\ud800b", "x".repeat(127),
             "y".repeat(128), "\u00e4".repeat(100_000)}) {
      Obj string = value("java.lang.String", "\"" + text + "\"");
      returns(string, echo, client.call("fixtures.Arguments", "echoString", string));
    }
    returnsRef("[I", "[1,-2,2147483647]", method("fixtures.Arguments", "echoInts", PUBLIC_STATIC),
        client.call("fixtures.Arguments", "echoInts", value("[I", "[1,-2,2147483647]")));
    Obj nothing = new Obj().withClazz(named("java.lang.Integer")).withIsNull(true);
    returns(nothing, method("fixtures.Arguments", "echoBoxedInt", PUBLIC_STATIC),
        client.call("fixtures.Arguments", "echoBoxedInt", nothing));
  }

  public void fields() {
    int object = returnsRef(FIELDS, "", constructor(FIELDS), client.create(FIELDS));
    Message reply = client.put(FIELDS, "aStatic", value("int", "5"));
    is(Client.PUT_STATIC_DONE,
        new ExecMessage().withStaticFieldPutDone(new StaticFieldPutDone()
                                                     .withField(field(FIELDS, "aStatic", PUBLIC_STATIC))
                                                     .withStaticFieldPutId(client.lastId)),
        reply);
    returns(value("int", "5"), fieldOf(FIELDS, "aStatic", PUBLIC_STATIC), client.get(FIELDS, "aStatic"));
    reply = client.putOf(object, FIELDS, "aString", value("java.lang.String", "\"new\""));
    is(Client.PUT_FIELD_DONE,
        new ExecMessage().withInstanceFieldPutDone(new InstanceFieldPutDone()
                                                       .withField(field(FIELDS, "aString", PUBLIC))
                                                       .withInstanceFieldPutId(client.lastId)),
        reply);
    returns(value("java.lang.String", "\"new\""), fieldOf(FIELDS, "aString", PUBLIC),
        client.getOf(object, FIELDS, "aString"));
  }

  public void throwables() {
    Message reply = client.call("fixtures.Throwables", "nested");
    that(reply.execMessage != null && reply.execMessage.raisedThrowable != null, Structs.show(reply));
    Throwable outer = reply.execMessage.raisedThrowable.throwable;
    RaisedThrowable expected = new RaisedThrowable()
                                   .withFrom(method("fixtures.Throwables", "nested", PUBLIC_STATIC))
                                   .withModifiers(PUBLIC_STATIC)
                                   .withThrowable(outer);
    is(Client.THROWABLE, new ExecMessage().withRaisedThrowable(expected), reply);
    String[][] told = {{"java.lang.UnsupportedOperationException", "outer"},
        {"java.lang.IllegalArgumentException", "middle"}, {"java.lang.IllegalStateException", "inner"}};
    Throwable throwable = outer;
    for (String[] one : told) {
      equal(one[0], throwable.Type, "the throwable");
      equal(one[1], throwable.message, "its message");
      that(throwable.stackTraceElements[0].matches("fixtures\\.Throwables\\.\\w+\\(Throwables\\.java:\\d+\\)"),
          "frame 0 is " + throwable.stackTraceElements[0]);
      throwable = throwable.cause;
    }
    equal(null, throwable, "the innermost cause");
  }

  public void controlMessages() {
    int list = returnsRef(
        "java.util.ArrayList", "[]", constructor("java.util.ArrayList"), client.create("java.util.ArrayList"));
    controls(4, 1, "", client.control(4));
    controls(1, 1, "", client.control(1, ref(list)));
    controls(1, 6, "No such object: " + list, client.control(1, ref(list)));
    controls(99, 4, "Unknown control command: 99", client.control(99));
  }

  public void metaMessages() {
    Obj named = value("[Ljava.lang.String;", "[\"fixtures.Calculator\"]");
    Message reply = client.meta(1, value("boolean", "false"), new Obj(), new Obj(), named);
    that(reply.metaMessage != null && reply.metaMessage.body.startsWith("[{\"className\":\"fixtures.Calculator\""),
        Structs.show(reply));
    MetaMessage expected = new MetaMessage()
                               .withMessageId(newId(reply.metaMessage.messageId))
                               .withResponseToId(client.lastId)
                               .withService((byte) 1)
                               .withStatus((byte) 1)
                               .withBody(reply.metaMessage.body);
    equal(new Message().withMessageType((byte) Client.META_RESPONSE).withMetaMessage(expected), reply, "the reply");
  }
}
