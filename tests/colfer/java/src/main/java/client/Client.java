package client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.function.UnaryOperator;
import jpeer.Class;
import jpeer.ClassMethodCall;
import jpeer.ConstructorCall;
import jpeer.Context;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.Field;
import jpeer.InstanceFieldGet;
import jpeer.InstanceFieldPut;
import jpeer.InstanceMethodCall;
import jpeer.Message;
import jpeer.MetaMessage;
import jpeer.Obj;
import jpeer.StaticFieldGet;
import jpeer.StaticFieldPut;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** A Java client of the peer: one socket with one request at a time, and a session whose name is the
 * client's UUID. */
final class Client implements AutoCloseable {
  private static final int ANSWER_MILLISECONDS = 60_000;
  /** At times the handshake with libzmq stalls until this ends; JeroMQ then connects anew. Its default is 30 s. */
  private static final int HANDSHAKE_MILLISECONDS = 2000;
  private static final ZContext ZMQ_CONTEXT = new ZContext();
  private static final Context CONTEXT = new Context()
                                             .withSourceLocationFile("Client.java")
                                             .withSourceLocationLine(1)
                                             .withSourceLocationType("client.Client");

  private final ZMQ.Socket socket = ZMQ_CONTEXT.createSocket(SocketType.REQ);
  private final byte[] uuid;
  private int sent;

  /** The id of the last request, which its reply has to have. */
  String lastId;

  Client(String address) {
    UUID random = UUID.randomUUID();
    uuid = ByteBuffer.allocate(16)
               .putLong(random.getMostSignificantBits())
               .putLong(random.getLeastSignificantBits())
               .array();
    socket.setIdentity(("ThinPeer-" + random.toString().substring(0, 8)).getBytes(StandardCharsets.US_ASCII));
    socket.setReceiveTimeOut(ANSWER_MILLISECONDS);
    socket.setSendTimeOut(ANSWER_MILLISECONDS);
    socket.setHandshakeIvl(HANDSHAKE_MILLISECONDS);
    socket.setLinger(0);
    socket.connect(address);
  }

  static Class named(String name) {
    return new Class().withName(name);
  }

  /** A value with its type; the value is JSON text. */
  static Obj value(String type, String json) {
    return new Obj().withClazz(named(type)).withValue(json);
  }

  static Obj ref(int ref) {
    return new Obj().withRef(ref);
  }

  private static Field field(String type, String name) {
    return new Field().withClazz(named(type)).withName(name);
  }

  private String nextId() {
    lastId = UUID.randomUUID().toString();
    return lastId;
  }

  private Message exchange(Message request) {
    Checks.that(socket.send(request.toBytes()), "the message was not sent");
    byte[] answer = socket.recv();
    Checks.that(answer != null, "no answer came");
    Checks.that(!socket.hasReceiveMore(), "the answer has more than one part");
    Message reply = new Message();
    Checks.that(reply.unmarshal(answer, 0, answer.length) == answer.length, "bytes after the message");
    return reply;
  }

  /** An execution message with all that a client sends about itself. */
  private ExecMessage send(int type, UnaryOperator<ExecMessage> call) {
    sent++;
    ExecMessage exec = new ExecMessage()
                           .withPeerUuid(uuid)
                           .withMessageId(nextId())
                           .withThreadName(Thread.currentThread().getName())
                           .withCurrentTime(System.currentTimeMillis())
                           .withDispatchSeq(sent)
                           .withBuilderSeq(sent);
    Message request = new Message().withMessageType((byte) type).withExecMessage(call.apply(exec));
    ExecMessage reply = exchange(request).execMessage;
    Checks.equal(lastId, reply.responseToId);
    return reply;
  }

  ExecMessage create(String type, Obj... args) {
    ConstructorCall call = new ConstructorCall().withClazz(named(type)).withArgs(args).withContext(CONTEXT);
    return send(1, exec -> exec.withConstructorCall(call));
  }

  ExecMessage callOn(int ref, String type, String method, Obj... args) {
    InstanceMethodCall call = new InstanceMethodCall().withClazz(named(type)).withName(method).withObjectRef(ref);
    return send(2, exec -> exec.withInstanceMethodCall(call.withArgs(args).withContext(CONTEXT)));
  }

  ExecMessage call(String type, String method, Obj... args) {
    ClassMethodCall call = new ClassMethodCall().withClazz(named(type)).withName(method);
    return send(3, exec -> exec.withClassMethodCall(call.withArgs(args).withContext(CONTEXT)));
  }

  ExecMessage get(String type, String name) {
    StaticFieldGet get = new StaticFieldGet().withClazz(named(type)).withField(field(type, name));
    return send(4, exec -> exec.withStaticFieldGet(get.withContext(CONTEXT)));
  }

  ExecMessage getOf(int ref, String type, String name) {
    InstanceFieldGet get = new InstanceFieldGet().withClazz(named(type)).withField(field(type, name));
    return send(5, exec -> exec.withInstanceFieldGet(get.withObjectRef(ref).withContext(CONTEXT)));
  }

  ExecMessage put(String type, String name, Obj value) {
    StaticFieldPut put = new StaticFieldPut().withClazz(named(type)).withField(field(type, name));
    return send(6, exec -> exec.withStaticFieldPut(put.withValueObject(value).withContext(CONTEXT)));
  }

  ExecMessage putOf(int ref, String type, String name, Obj value) {
    InstanceFieldPut put = new InstanceFieldPut().withClazz(named(type)).withField(field(type, name));
    return send(
        7, exec -> exec.withInstanceFieldPut(put.withObjectRef(ref).withValueObject(value).withContext(CONTEXT)));
  }

  ControlMessage control(int command, Obj... params) {
    ControlMessage control = new ControlMessage().withFromPeer(uuid).withMessageId(nextId());
    control.withCommand((byte) command).withParams(params);
    return exchange(new Message().withMessageType((byte) 31).withControlMessage(control)).controlMessage;
  }

  MetaMessage meta(int service, Obj... params) {
    MetaMessage meta = new MetaMessage().withFromPeer(uuid).withMessageId(nextId());
    meta.withService((byte) service).withParams(params);
    return exchange(new Message().withMessageType((byte) 60).withMetaMessage(meta)).metaMessage;
  }

  @Override
  public void close() {
    ZMQ_CONTEXT.destroySocket(socket);
  }
}
