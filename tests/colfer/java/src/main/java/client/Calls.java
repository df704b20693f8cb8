package client;

import static client.Structs.bare;
import static client.Structs.constructor;
import static client.Structs.method;
import static client.Structs.named;
import static client.Structs.nothing;
import static client.Structs.ref;
import static client.Structs.value;

import java.nio.charset.StandardCharsets;
import jpeer.ClassMethodCall;
import jpeer.Obj;
import jpeer.Reflectable;

/** Constructors, methods of classes and of objects, and the sessions that keep the objects. */
final class Calls extends Suite {
  private static final String USER = "fixtures.User";
  private static final Reflectable NAME_OF_USER = method(USER, "getName", 1);

  Calls(String address) {
    super(address);
  }

  private int createUser(String name) {
    return client.create(USER, value("java.lang.String", "\"" + name + "\""), value("int", "30"))
        .returnsRef(USER, constructor(USER));
  }

  public void callsClassMethod() {
    client.call("fixtures.Calculator", "add", value("int", "5"), value("int", "3"))
        .returns(value("int", "8"), method("fixtures.Calculator", "add", 9));
  }

  public void callsMethodThatReturnsNothing() {
    client.call("fixtures.Members", "staticNothing").returnsVoid(method("fixtures.Members", "staticNothing", 9));
    int ref = client.create("fixtures.Members").returnsRef("fixtures.Members", constructor("fixtures.Members"));
    client.callOn(ref, "fixtures.Members", "nothing").returnsVoid(method("fixtures.Members", "nothing", 1));
  }

  public void createsObjectAndCallsIt() {
    int user = createUser("Alice");
    client.callOn(user, USER, "getName").returns(value("java.lang.String", "\"Alice\""), NAME_OF_USER);
    client.callOn(user, USER, "getAge").returns(value("int", "30"), method(USER, "getAge", 1));
  }

  public void callsPrivateMethod() {
    int ref = client.create("fixtures.Members").returnsRef("fixtures.Members", constructor("fixtures.Members"));
    client.callOn(ref, "fixtures.Members", "privateMethod")
        .returns(
            value("java.lang.String", "\"private private field\""), method("fixtures.Members", "privateMethod", 2));
  }

  public void tellsTheClassThatDeclaresTheMethod() {
    int list = client.create("java.util.ArrayList")
                   .returnsRef("java.util.ArrayList", "[]", constructor("java.util.ArrayList"));
    client.callOn(list, "java.util.ArrayList", "containsAll", ref(list))
        .returns(value("boolean", "true"), method("java.util.AbstractCollection", "containsAll", 1));
  }

  public void choosesOverloadByTheTypesOfArguments() {
    Reflectable from = method("fixtures.Overloads", "specific", 9);
    client.call("fixtures.Overloads", "specific", value("java.lang.Integer", "1"))
        .returns(value("java.lang.String", "\"Integer\""), from);
    client.call("fixtures.Overloads", "specific", value("java.lang.Number", "1"))
        .returns(value("java.lang.String", "\"Number\""), from);
    client.call("fixtures.Overloads", "specific", value("java.lang.Object", "\"x\""))
        .returns(value("java.lang.String", "\"Object\""), from);
    client.call("fixtures.Overloads", "specific", nothing("java.lang.CharSequence"))
        .returns(value("java.lang.String", "\"CharSequence\""), from);
    client.call("fixtures.Overloads", "narrowest", value("short", "1"))
        .returns(value("java.lang.String", "\"short\""), method("fixtures.Overloads", "narrowest", 9));
  }

  public void takesArgumentsWithoutTypes() {
    client.call("fixtures.Calculator", "add", bare("5"), bare("3"))
        .returns(value("int", "8"), method("fixtures.Calculator", "add", 9));
    client.call("fixtures.Overloads", "specific", bare("\"x\""))
        .returns(value("java.lang.String", "\"String\""), method("fixtures.Overloads", "specific", 9));
  }

  /** Neither a value nor a ref nor isNull is a null, too, with and without a type. */
  public void takesNulls() {
    Reflectable from = method("java.util.Objects", "isNull", 9);
    for (Obj argument : new Obj[] {new Obj(), new Obj().withIsNull(true), nothing("java.lang.String"), bare("null"),
             value("java.lang.String", ""), value("java.lang.String", "null"), value("[I", "")}) {
      client.call("java.util.Objects", "isNull", argument).returns(value("boolean", "true"), from);
    }
  }

  public void takesRefsAsArguments() {
    int alice = createUser("Alice");
    int bob = createUser("Bob");
    Reflectable from = method(USER, "sameAs", 1);
    client.callOn(alice, USER, "sameAs", ref(alice)).returns(value("boolean", "true"), from);
    client.callOn(alice, USER, "sameAs", ref(USER, bob)).returns(value("boolean", "false"), from);
    client.call("fixtures.Arguments", "echoObject", ref("java.lang.Object", bob))
        .returns(new Obj().withClazz(named(USER)).withRef(bob), method("fixtures.Arguments", "echoObject", 9));
  }

  public void keepsTheRefOfAnObject() {
    int user = createUser("Alice");
    for (int i = 0; i < 3; i++) {
      int again = client.call("fixtures.Arguments", "echoObject", ref(user))
                      .returnsRef(USER, method("fixtures.Arguments", "echoObject", 9));
      Check.equal(user, again, "the ref");
    }
  }

  public void keepsStateBetweenCalls() {
    String calculator = "fixtures.Calculator";
    int ref = client.create(calculator).returnsRef(calculator, constructor(calculator));
    for (int sum = 5; sum <= 20; sum += 5) {
      client.callOn(ref, calculator, "accumulate", value("int", "5"))
          .returns(value("int", String.valueOf(sum)), method(calculator, "accumulate", 1));
    }
  }

  public void sharesSessionByUuid() {
    int user = createUser("Alice");
    try (Client same = client.another(address); Client other = new Client(address)) {
      other.callOn(user, USER, "getName")
          .refuses("java.lang.NullPointerException", "No object found with objRef: " + user, null);
      same.callOn(user, USER, "getName").returns(value("java.lang.String", "\"Alice\""), NAME_OF_USER);
    }
  }

  public void sharesSessionWithJson() {
    int user = createUser("Alice");
    String request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"peer-id\":\"" + client.uuid()
        + "\",\"method\":\"call\",\"params\":"
        + "{\"type\":\"fixtures.User\",\"method\":\"getName\",\"instance\":" + user + "}}";
    String answer = new String(client.exchange(request.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8);
    Check.contains("\"type\":\"java.lang.String\"", answer, "the answer");
    Check.contains("Alice", answer, "the answer");
    client.callOn(user, USER, "getName").returns(value("java.lang.String", "\"Alice\""), NAME_OF_USER);
  }

  /** The thread's name, told by a call with this affinity. */
  private String threadOf(String affinity) {
    ClassMethodCall call = new ClassMethodCall().withClazz(named("fixtures.Affinity")).withName("threadName");
    Reply reply =
        client.send(Client.CLASS_METHOD, client.exec().withThreadAffinity(affinity).withClassMethodCall(call));
    String name = reply.object().value;
    reply.returns(value("java.lang.String", name), method("fixtures.Affinity", "threadName", 9));
    return name;
  }

  public void runsOnTheExecutorThatIsNamed() {
    Check.equal("\"fixture-single\"", threadOf("SINGLE"), "the thread");
    Check.begins("\"rpc-", threadOf("nobody"), "the thread");
    Check.begins("\"rpc-", threadOf(""), "the thread");
  }

  public void goesOnAfterManyCalls() {
    for (int i = 0; i < 500; i++) {
      client.call("fixtures.Calculator", "add", value("int", String.valueOf(i)), value("int", "1"))
          .returns(value("int", String.valueOf(i + 1)), method("fixtures.Calculator", "add", 9));
    }
  }
}
