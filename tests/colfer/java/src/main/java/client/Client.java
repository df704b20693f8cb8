package client;

import static client.Structs.field;
import static client.Structs.named;

import java.nio.ByteBuffer;
import java.util.UUID;
import jpeer.ClassMethodCall;
import jpeer.ConstructorCall;
import jpeer.Context;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.InstanceFieldGet;
import jpeer.InstanceFieldPut;
import jpeer.InstanceMethodCall;
import jpeer.Message;
import jpeer.MetaMessage;
import jpeer.Obj;
import jpeer.StaticFieldGet;
import jpeer.StaticFieldPut;

/** A Java client of the peer: one socket, and the session that its UUID names. */
final class Client implements AutoCloseable {
  static final int CONSTRUCTOR = 1;
  static final int INSTANCE_METHOD = 2;
  static final int CLASS_METHOD = 3;
  static final int GET_STATIC = 4;
  static final int GET_FIELD = 5;
  static final int PUT_STATIC = 6;
  static final int PUT_FIELD = 7;
  static final int PUT_STATIC_DONE = 8;
  static final int PUT_FIELD_DONE = 9;
  static final int THROWABLE = 10;
  static final int RETURN_VALUE = 11;
  static final int CONTROL_REQUEST = 31;
  static final int CONTROL_RESPONSE = 32;
  static final int META_REQUEST = 60;
  static final int META_RESPONSE = 61;

  private final PeerSocket socket;
  private final UUID uuid = UUID.randomUUID();
  private int sent;

  /** The id of the last request, to which its reply has to be. */
  String lastId;

  Client(String address) {
    this.socket = new PeerSocket(address, "ThinPeer-" + uuid.toString().substring(0, 8));
  }

  private byte[] uuidBytes() {
    return ByteBuffer.allocate(16)
        .putLong(uuid.getMostSignificantBits())
        .putLong(uuid.getLeastSignificantBits())
        .array();
  }

  private String nextId() {
    lastId = UUID.randomUUID().toString();
    return lastId;
  }

  /** Sends a request; gives its reply. */
  Message exchange(Message request) {
    byte[] bytes = socket.exchange(request.toBytes());
    Message reply = new Message();
    Checks.equal(bytes.length, reply.unmarshal(bytes, 0, bytes.length), "the end of the message");
    return reply;
  }

  /** An execution message with all that a client tells about itself. */
  private ExecMessage exec() {
    sent++;
    return new ExecMessage()
        .withPeerUuid(uuidBytes())
        .withMessageId(nextId())
        .withThreadName(Thread.currentThread().getName())
        .withCurrentTime(System.currentTimeMillis())
        .withDispatchSeq(sent)
        .withBuilderSeq(sent);
  }

  private static Context context() {
    return new Context()
        .withSourceLocationFile("Client.java")
        .withSourceLocationLine(1)
        .withSourceLocationType("client.Client");
  }

  private Message send(int type, ExecMessage exec) {
    return exchange(new Message().withMessageType((byte) type).withExecMessage(exec));
  }

  Message create(String type, Obj... args) {
    return send(CONSTRUCTOR,
        exec().withConstructorCall(new ConstructorCall().withClazz(named(type)).withArgs(args).withContext(context())));
  }

  Message call(String type, String method, Obj... args) {
    return send(CLASS_METHOD,
        exec().withClassMethodCall(
            new ClassMethodCall().withClazz(named(type)).withName(method).withArgs(args).withContext(context())));
  }

  Message callOn(int ref, String type, String method, Obj... args) {
    return send(INSTANCE_METHOD,
        exec().withInstanceMethodCall(new InstanceMethodCall()
                                          .withClazz(named(type))
                                          .withName(method)
                                          .withObjectRef(ref)
                                          .withArgs(args)
                                          .withContext(context())));
  }

  Message get(String type, String name) {
    return send(GET_STATIC,
        exec().withStaticFieldGet(
            new StaticFieldGet().withClazz(named(type)).withField(field(type, name, 0)).withContext(context())));
  }

  Message getOf(int ref, String type, String name) {
    return send(GET_FIELD,
        exec().withInstanceFieldGet(new InstanceFieldGet()
                                        .withClazz(named(type))
                                        .withObjectRef(ref)
                                        .withField(field(type, name, 0))
                                        .withContext(context())));
  }

  Message put(String type, String name, Obj value) {
    return send(PUT_STATIC,
        exec().withStaticFieldPut(new StaticFieldPut()
                                      .withClazz(named(type))
                                      .withField(field(type, name, 0))
                                      .withValueObject(value)
                                      .withContext(context())));
  }

  Message putOf(int ref, String type, String name, Obj value) {
    return send(PUT_FIELD,
        exec().withInstanceFieldPut(new InstanceFieldPut()
                                        .withClazz(named(type))
                                        .withObjectRef(ref)
                                        .withField(field(type, name, 0))
                                        .withValueObject(value)
                                        .withContext(context())));
  }

  Message control(int command, Obj... params) {
    return exchange(new Message()
                        .withMessageType((byte) CONTROL_REQUEST)
                        .withControlMessage(new ControlMessage()
                                                .withFromPeer(uuidBytes())
                                                .withMessageId(nextId())
                                                .withCommand((byte) command)
                                                .withParams(params)));
  }

  Message meta(int service, Obj... params) {
    return exchange(new Message()
                        .withMessageType((byte) META_REQUEST)
                        .withMetaMessage(new MetaMessage()
                                             .withFromPeer(uuidBytes())
                                             .withMessageId(nextId())
                                             .withService((byte) service)
                                             .withParams(params)));
  }

  @Override
  public void close() {
    socket.close();
  }
}
