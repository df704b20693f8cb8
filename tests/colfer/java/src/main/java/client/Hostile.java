package client;

import static client.Structs.bare;
import static client.Structs.method;
import static client.Structs.named;
import static client.Structs.value;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import jpeer.ClInitCall;
import jpeer.ClassMethodCall;
import jpeer.ConstructorCall;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.InterceptMessage;
import jpeer.Message;
import jpeer.MetaMessage;
import jpeer.Obj;

/** Requests that are wrong in every way: each is answered, and the socket, which waits for each answer, goes on. */
final class Hostile extends Suite {
  private static final String ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException";

  Hostile(String address) {
    super(address);
  }

  private Message goodRequest() {
    ClassMethodCall call = new ClassMethodCall()
                               .withClazz(named("fixtures.Calculator"))
                               .withName("add")
                               .withArgs(new Obj[] {value("int", "5"), value("int", "3")});
    return new Message()
        .withMessageType((byte) Client.CLASS_METHOD)
        .withExecMessage(client.exec().withClassMethodCall(call));
  }

  private void checkGoesOn() {
    client.exchange(goodRequest()).returns(value("int", "8"), method("fixtures.Calculator", "add", 9));
  }

  /** The status of the control message that answers bytes which are no request. */
  private int statusFor(byte[]... parts) {
    Message answer = Client.decode(client.exchange(parts));
    ControlMessage control = answer.controlMessage;
    Check.that(control != null && !control.body.isEmpty(), "the answer gives no reason: " + Structs.show(answer));
    ControlMessage expected = new ControlMessage()
                                  .withMessageId(control.messageId)
                                  .withResponseToId(control.responseToId)
                                  .withStatus(control.status)
                                  .withBody(control.body);
    Check.equal(new Message().withMessageType((byte) Client.CONTROL_RESPONSE).withControlMessage(expected), answer,
        "the answer");
    return control.status;
  }

  private void checkUndecodable(byte[]... parts) {
    Check.equal(Client.ERROR, statusFor(parts), "the status");
  }

  public void emptyMessage() {
    checkUndecodable(new byte[0]);
    checkGoesOn();
  }

  public void truncatedMessage() {
    byte[] good = goodRequest().toBytes();
    for (int length = 1; length < good.length; length++) {
      checkUndecodable(Arrays.copyOf(good, length));
    }
    checkGoesOn();
  }

  public void bytesBehindTheMessage() {
    byte[] good = goodRequest().toBytes();
    checkUndecodable(Arrays.copyOf(good, good.length + 1));
    checkGoesOn();
  }

  public void severalParts() {
    byte[] good = goodRequest().toBytes();
    checkUndecodable(good, good);
    checkUndecodable(good, new byte[0]);
    checkUndecodable(new byte[0], good);
    checkGoesOn();
  }

  public void randomBytes() {
    Random random = new Random(1);
    byte[] firsts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0x7f};
    for (int i = 0; i < 500; i++) {
      byte[] bytes = new byte[1 + random.nextInt(100)];
      random.nextBytes(bytes);
      bytes[0] = firsts[i % firsts.length];
      int status = statusFor(bytes);
      Check.that(status == Client.ERROR || status == Client.UNSUPPORTED, "the status is " + status);
    }
    checkGoesOn();
  }

  /** What does not begin like a message is JSON-RPC to the peer, and gets such an answer. */
  public void randomBytesThatAreNoMessage() {
    Random random = new Random(1);
    for (int first : new int[] {9, 0x20, 0x7e, 0x80, 0xff}) {
      byte[] bytes = new byte[50];
      random.nextBytes(bytes);
      bytes[0] = (byte) first;
      String answer = new String(client.exchange(bytes), StandardCharsets.UTF_8);
      Check.contains("-32700", answer, "the answer");
    }
    checkGoesOn();
  }

  public void flippedBits() {
    byte[] good = goodRequest().toBytes();
    Random random = new Random(2);
    for (int i = 0; i < 1000; i++) {
      byte[] bytes = good.clone();
      bytes[2 + random.nextInt(bytes.length - 2)] ^= (byte) (1 << random.nextInt(8));
      Message answer = Client.decode(client.exchange(bytes));
      int type = answer.messageType;
      Check.that(type == Client.RETURN_VALUE || type == Client.THROWABLE || type == Client.CONTROL_RESPONSE,
          "the answer is " + Structs.show(answer));
    }
    checkGoesOn();
  }

  public void countBombs() {
    checkUndecodable(new byte[] {1, 0, -1, -1, -1, -1, 15, 0x7f, 0x7f});
    checkUndecodable(new byte[] {0, 31, 2, 4, -1, -1, -1, -1, 15, 0x7f, 0x7f});
    checkUndecodable(new byte[] {0, 31, 2, 4, -1, -1, 3, 0x7f, 0x7f, 0x7f});
    checkGoesOn();
  }

  public void causesInCauses() {
    byte[] bytes = new byte[100_000];
    Arrays.fill(bytes, (byte) 3);
    bytes[0] = 1; // an exec message with a raised throwable
    bytes[1] = 17;
    checkUndecodable(bytes);
    checkGoesOn();
  }

  public void textThatIsNotUtf8() {
    checkUndecodable(new byte[] {0, 3, 1, 1, 2, (byte) 0xc3, 0x28, 0x7f, 0x7f});
    checkGoesOn();
  }

  public void messageWithoutContent() {
    Check.equal(Client.UNSUPPORTED, statusFor(new Message().toBytes()), "the status");
    Check.equal(Client.UNSUPPORTED, statusFor(new Message().withMessageType((byte) 200).toBytes()), "the status");
    for (int type : new int[] {Client.RETURN_VALUE, Client.CONTROL_RESPONSE, Client.META_RESPONSE}) {
      Check.equal(Client.ERROR, statusFor(new Message().withMessageType((byte) type).toBytes()), "the status");
    }
    checkGoesOn();
  }

  public void interceptMessages() {
    InterceptMessage intercept = new InterceptMessage().withId("x");
    Check.equal(Client.UNSUPPORTED,
        statusFor(new Message().withMessageType((byte) 40).withIntercept4(intercept).toBytes()), "the status");
    Check.equal(Client.UNSUPPORTED,
        statusFor(new Message().withMessageType((byte) 50).withIntercept8(intercept).toBytes()), "the status");
    Check.equal(Client.UNSUPPORTED, statusFor(new Message().withIntercept6(intercept).toBytes()), "the status");
    checkGoesOn();
  }

  public void responsesForRequests() {
    ExecMessage exec = client.exec();
    Reply reply = client.send(Client.RETURN_VALUE, exec);
    Check.equal((byte) Client.CONTROL_RESPONSE, reply.message().messageType, "the type");
    Check.equal((byte) Client.ERROR, reply.message().controlMessage.status, "the status");
    Check.equal(exec.messageId, reply.message().controlMessage.responseToId, "responseToId");
    checkGoesOn();
  }

  public void typeThatDoesNotGoWithTheContent() {
    ConstructorCall content = new ConstructorCall().withClazz(named("fixtures.User"));
    String[] needed = {"constructor_call", "instance_method_call", "class_method_call", "static_field_get",
        "instance_field_get", "static_field_put", "instance_field_put"};
    for (int type = Client.INSTANCE_METHOD; type <= Client.PUT_FIELD; type++) {
      client.send(type, client.exec().withConstructorCall(content))
          .refuses(ILLEGAL_ARGUMENT, "message type " + type + " needs " + needed[type - 1], null);
    }
    client.send(Client.CONSTRUCTOR, client.exec())
        .refuses(ILLEGAL_ARGUMENT, "message type 1 needs constructor_call", null);
    client.send(Client.CLASS_METHOD, client.exec().withClinitCall(new ClInitCall().withClazz(named("fixtures.User"))))
        .refuses("java.lang.UnsupportedOperationException", "", null);
    checkGoesOn();
  }

  public void partThatDoesNotGoWithTheType() {
    Message control = new Message()
                          .withMessageType((byte) Client.CLASS_METHOD)
                          .withControlMessage(
                              new ControlMessage().withMessageId("an id").withCommand((byte) Client.PING));
    Message answer = Client.decode(client.exchange(control.toBytes()));
    Check.that(
        answer.messageType == Client.THROWABLE || answer.messageType == Client.CONTROL_RESPONSE, Structs.show(answer));
    Message meta = new Message()
                       .withMessageType((byte) Client.CONTROL_REQUEST)
                       .withMetaMessage(new MetaMessage().withMessageId("an id"));
    answer = Client.decode(client.exchange(meta.toBytes()));
    Check.that(answer.messageType == Client.CONTROL_RESPONSE && answer.controlMessage.status == Client.ERROR,
        Structs.show(answer));
    checkGoesOn();
  }

  public void uuidOfAnotherLength() {
    for (int length : new int[] {1, 15, 17, 300}) {
      ClassMethodCall call = goodRequest().execMessage.classMethodCall;
      client.send(Client.CLASS_METHOD, client.exec().withPeerUuid(new byte[length]).withClassMethodCall(call))
          .refuses(ILLEGAL_ARGUMENT, "", null);
      ControlMessage ping =
          new ControlMessage().withFromPeer(new byte[length]).withMessageId("an id").withCommand((byte) Client.PING);
      client.exchange(new Message().withMessageType((byte) Client.CONTROL_REQUEST).withControlMessage(ping))
          .controls(Client.ERROR);
      MetaMessage meta = new MetaMessage().withFromPeer(new byte[length]).withMessageId("an id").withService((byte) 1);
      client.exchange(new Message().withMessageType((byte) Client.META_REQUEST).withMetaMessage(meta))
          .tells(Client.ERROR);
    }
    checkGoesOn();
  }

  /** Without a UUID the socket's identity names the session. */
  public void noUuid() {
    ExecMessage create = client.exec()
                             .withPeerUuid(new byte[0])
                             .withConstructorCall(new ConstructorCall().withClazz(named("fixtures.Hostile")));
    client.send(Client.CONSTRUCTOR, create).returnsRef("fixtures.Hostile", Structs.constructor("fixtures.Hostile"));
    checkGoesOn();
  }

  public void noMessageId() {
    client
        .exchange(new Message()
                      .withMessageType((byte) Client.CLASS_METHOD)
                      .withExecMessage(client.exec().withMessageId("").withClassMethodCall(
                          goodRequest().execMessage.classMethodCall)))
        .returns(value("int", "8"), method("fixtures.Calculator", "add", 9));
  }

  public void valuesThatAreNoJson() {
    for (String json : new String[] {"{", "[1,", "nul", "'x'", "1 2", "\"a", "\u0000", "NaN"}) {
      client.call("fixtures.Arguments", "echoObject", bare("1"), value("java.lang.Object", json))
          .refuses(ILLEGAL_ARGUMENT, "argument 1", null);
    }
    client.call("fixtures.Arguments", "echoObject", bare("[".repeat(10_000) + "]".repeat(10_000)))
        .refuses(ILLEGAL_ARGUMENT, "argument 0", null);
    checkGoesOn();
  }

  public void namesThatAreNone() {
    client.call("", "add").refuses(ILLEGAL_ARGUMENT, "Type is missing", null);
    client.call("fixtures.Calculator", "").refuses(ILLEGAL_ARGUMENT, "Method is missing", null);
    client.send(Client.CLASS_METHOD, client.exec().withClassMethodCall(new ClassMethodCall().withName("add")))
        .refuses(ILLEGAL_ARGUMENT, "Type is missing", null);
    client.call("fixtures/Calculator", "add").refuses(ILLEGAL_ARGUMENT, "Invalid characters in type", null);
    client.call("int", "add").refuses(ILLEGAL_ARGUMENT, "Type name is a Java reserved keyword", null);
    client.call("x".repeat(100_000), "add").refuses(ILLEGAL_ARGUMENT, "", null);
    client.call("fixtures.Calculator", "add", value("x".repeat(100_000), "1")).refuses(ILLEGAL_ARGUMENT, "", null);
    checkGoesOn();
  }

  public void refsThatAreNone() {
    for (int ref : new int[] {Integer.MAX_VALUE, -1, Integer.MIN_VALUE}) {
      Reply reply = client.callOn(ref, "fixtures.User", "getName");
      Check.equal((byte) Client.THROWABLE, reply.message().messageType, "the type");
      reply = client.call("fixtures.Arguments", "echoObject", Structs.ref(ref));
      Check.equal((byte) Client.THROWABLE, reply.message().messageType, "the type");
    }
    checkGoesOn();
  }

  public void manyArguments() {
    Obj[] many = Collections.nCopies(60_000, bare("1")).toArray(new Obj[0]);
    Reply reply = client.call("fixtures.Calculator", "add", many);
    Check.equal((byte) Client.THROWABLE, reply.message().messageType, "the type");
    checkGoesOn();
  }

  public void objectThatMisbehaves() {
    int ref = client.create("fixtures.Hostile").returnsRef("fixtures.Hostile", Structs.constructor("fixtures.Hostile"));
    client.callOn(ref, "fixtures.Hostile", "alive").returns(value("int", "1"), method("fixtures.Hostile", "alive", 1));
    client.call("java.util.Collections", "singletonList", Structs.ref(ref))
        .returnsRef("java.util.Collections$SingletonList", method("java.util.Collections", "singletonList", 9));
    checkGoesOn();
  }
}
