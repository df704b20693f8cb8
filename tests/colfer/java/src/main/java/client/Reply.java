package client;

import static client.Structs.named;

import java.lang.reflect.Modifier;
import java.util.HashSet;
import java.util.Set;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.Field;
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
 * A reply with its request. Each check makes the whole reply that is expected and compares it, so that every field is
 * looked at, and none may be there that should not; what cannot be known before is taken from the reply, and looked at
 * by itself: the id, and where the caller asks for it a ref or stack frames.
 */
final class Reply {
  private static final Set<String> SEEN_IDS = new HashSet<>();

  /** What --compat pal promises: values have a ref, too. */
  static boolean everyResultHasARef;

  private final Message request;
  private final Message message;

  Reply(Message request, Message message) {
    this.request = request;
    this.message = message;
  }

  @Override
  public String toString() {
    return Structs.show(message);
  }

  Message message() {
    return message;
  }

  private static void checkNewId(String id) {
    Check.that(id.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "messageId: " + id + " is no UUID");
    Check.that(SEEN_IDS.add(id), "messageId: " + id + " came before");
  }

  private ExecMessage exec() {
    Check.that(message.execMessage != null, "the reply has no execMessage: " + this);
    return message.execMessage;
  }

  /** The execution message that the reply has to be, without its content. */
  private ExecMessage expectedExec() {
    checkNewId(exec().messageId);
    return new ExecMessage().withMessageId(exec().messageId).withResponseToId(request.execMessage.messageId);
  }

  private void checkExec(int type, ExecMessage expected) {
    Check.equal(new Message().withMessageType((byte) type).withExecMessage(expected), message, "the reply");
  }

  /** What came back, to look at. */
  Obj object() {
    Check.that(exec().returnValue != null && exec().returnValue.object != null, "the reply has no object: " + this);
    return exec().returnValue.object;
  }

  void returns(Obj object, Reflectable from) {
    if (everyResultHasARef && object.ref == 0 && !object.isNull) {
      Check.that(object().ref > 0, "the value has no ref: " + this);
      object.ref = object().ref;
    }
    checkExec(Client.RETURN_VALUE, expectedExec().withReturnValue(new ReturnValue().withObject(object).withFrom(from)));
  }

  void returnsVoid(Reflectable from) {
    checkExec(Client.RETURN_VALUE, expectedExec().withReturnValue(new ReturnValue().withIsVoid(true).withFrom(from)));
  }

  /** An object that comes as its ref alone; gives the ref. */
  int returnsRef(String type, Reflectable from) {
    return returnsRef(type, "", from);
  }

  /** An object with its value as JSON text beside its ref. */
  int returnsRef(String type, String value, Reflectable from) {
    int ref = object().ref;
    Check.that(ref > 0, "no ref: " + this);
    returns(new Obj().withClazz(named(type)).withValue(value).withRef(ref), from);
    return ref;
  }

  void putStatic(Field field) {
    checkExec(Client.PUT_STATIC_DONE,
        expectedExec().withStaticFieldPutDone(
            new StaticFieldPutDone().withField(field).withStaticFieldPutId(request.execMessage.messageId)));
  }

  void putField(Field field) {
    checkExec(Client.PUT_FIELD_DONE,
        expectedExec().withInstanceFieldPutDone(
            new InstanceFieldPutDone().withField(field).withInstanceFieldPutId(request.execMessage.messageId)));
  }

  /** The throwable, of which type, message and cause are left to check. */
  Throwable raised(Reflectable from) {
    RaisedThrowable raised = exec().raisedThrowable;
    Check.that(raised != null && raised.throwable != null, "the reply has no throwable: " + this);
    checkExec(Client.THROWABLE,
        expectedExec().withRaisedThrowable(
            new RaisedThrowable().withFrom(from).withModifiers(modifiersOf(from)).withThrowable(raised.throwable)));
    return raised.throwable;
  }

  private static int modifiersOf(Reflectable from) {
    if (from == null) {
      return 0;
    }
    return from.method != null ? from.method.modifiers : from.field != null ? from.field.modifiers : Modifier.PUBLIC;
  }

  /** A throwable that Java code threw, and no cause. */
  Throwable raises(String type, String text, Reflectable from) {
    Throwable throwable = raised(from);
    checkThrowable(type, text, throwable);
    Check.equal(null, throwable.cause, "the cause");
    return throwable;
  }

  /** A throwable of the peer itself: its message begins so. */
  void refuses(String type, String beginning, Reflectable from) {
    Throwable throwable = raised(from);
    Check.equal(type, throwable.Type, "the throwable");
    Check.begins(beginning, throwable.message, "its message");
  }

  static void checkThrowable(String type, String text, Throwable throwable) {
    Check.equal(type, throwable.Type, "the throwable");
    Check.equal(text, throwable.message, "its message");
  }

  /** The body of a control message with this status. */
  String controls(int status) {
    ControlMessage reply = message.controlMessage;
    Check.that(reply != null, "the reply has no controlMessage: " + this);
    checkNewId(reply.messageId);
    ControlMessage expected =
        new ControlMessage().withMessageId(reply.messageId).withStatus((byte) status).withBody(reply.body);
    if (request != null) {
      expected.withResponseToId(request.controlMessage.messageId).withCommand(request.controlMessage.command);
    }
    Check.equal(new Message().withMessageType((byte) Client.CONTROL_RESPONSE).withControlMessage(expected), message,
        "the reply");
    return reply.body;
  }

  /** The body of a meta message with this status. */
  String tells(int status) {
    MetaMessage reply = message.metaMessage;
    Check.that(reply != null, "the reply has no metaMessage: " + this);
    checkNewId(reply.messageId);
    MetaMessage expected = new MetaMessage()
                               .withMessageId(reply.messageId)
                               .withStatus((byte) status)
                               .withBody(reply.body)
                               .withResponseToId(request.metaMessage.messageId)
                               .withService(request.metaMessage.service);
    Check.equal(
        new Message().withMessageType((byte) Client.META_RESPONSE).withMetaMessage(expected), message, "the reply");
    return reply.body;
  }
}
