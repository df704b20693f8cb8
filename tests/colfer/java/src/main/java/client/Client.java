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

  static final int DELETE_OBJECT = 1;
  static final int DELETE_SESSION = 2;
  static final int GC = 3;
  static final int PING = 4;

  static final int OK = 1;
  static final int ERROR = 2;
  static final int UNAUTHORIZED = 3;
  static final int UNSUPPORTED = 4;
  static final int NO_SUCH_SESSION = 5;
  static final int NO_SUCH_OBJECT = 6;

  static final int FETCH_CLASSES_INFO = 1;

  private final PeerSocket socket;
  private final UUID uuid;
  private int sent;

  private Client(String address, UUID uuid, String suffix) {
    this.socket = new PeerSocket(address, "ThinPeer-" + suffix);
    this.uuid = uuid;
  }

  private Client(String address, UUID uuid) {
    this(address, uuid, uuid.toString().substring(0, 8));
  }

  Client(String address) {
    this(address, UUID.randomUUID());
  }

  /** Another socket for the session of this client; the identities of sockets have to differ. */
  Client another(String address) {
    return new Client(address, uuid, uuid.toString().substring(24));
  }

  UUID uuid() {
    return uuid;
  }

  byte[] uuidBytes() {
    return ByteBuffer.allocate(16)
        .putLong(uuid.getMostSignificantBits())
        .putLong(uuid.getLeastSignificantBits())
        .array();
  }

  /** Sends anything at all. */
  byte[] exchange(byte[]... parts) {
    return socket.exchange(parts);
  }

  static Message decode(byte[] bytes) {
    Message message = new Message();
    Check.equal(bytes.length, message.unmarshal(bytes, 0, bytes.length), "the end of the message");
    return message;
  }

  Reply exchange(Message request) {
    return new Reply(request, decode(socket.exchange(request.toBytes())));
  }

  /** An execution message with all that a client tells about itself. */
  ExecMessage exec() {
    sent++;
    return new ExecMessage()
        .withPeerUuid(uuidBytes())
        .withMessageId(UUID.randomUUID().toString())
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

  Reply send(int type, ExecMessage exec) {
    return exchange(new Message().withMessageType((byte) type).withExecMessage(exec));
  }

  Reply create(String type, Obj... args) {
    return send(CONSTRUCTOR,
        exec().withConstructorCall(new ConstructorCall().withClazz(named(type)).withArgs(args).withContext(context())));
  }

  Reply call(String type, String method, Obj... args) {
    return send(CLASS_METHOD,
        exec().withClassMethodCall(
            new ClassMethodCall().withClazz(named(type)).withName(method).withArgs(args).withContext(context())));
  }

  Reply callOn(int ref, String type, String method, Obj... args) {
    return send(INSTANCE_METHOD,
        exec().withInstanceMethodCall(new InstanceMethodCall()
                                          .withClazz(named(type))
                                          .withName(method)
                                          .withObjectRef(ref)
                                          .withArgs(args)
                                          .withContext(context())));
  }

  Reply get(String type, String name) {
    return send(GET_STATIC,
        exec().withStaticFieldGet(
            new StaticFieldGet().withClazz(named(type)).withField(field(type, name, 0)).withContext(context())));
  }

  Reply getOf(int ref, String type, String name) {
    return send(GET_FIELD,
        exec().withInstanceFieldGet(new InstanceFieldGet()
                                        .withClazz(named(type))
                                        .withObjectRef(ref)
                                        .withField(field(type, name, 0))
                                        .withContext(context())));
  }

  Reply put(String type, String name, Obj value) {
    return send(PUT_STATIC,
        exec().withStaticFieldPut(new StaticFieldPut()
                                      .withClazz(named(type))
                                      .withField(field(type, name, 0))
                                      .withValueObject(value)
                                      .withContext(context())));
  }

  Reply putOf(int ref, String type, String name, Obj value) {
    return send(PUT_FIELD,
        exec().withInstanceFieldPut(new InstanceFieldPut()
                                        .withClazz(named(type))
                                        .withObjectRef(ref)
                                        .withField(field(type, name, 0))
                                        .withValueObject(value)
                                        .withContext(context())));
  }

  /** Puts an object by its ref alone. */
  Reply putRefOf(int ref, String type, String name, int valueRef) {
    return send(PUT_FIELD,
        exec().withInstanceFieldPut(new InstanceFieldPut()
                                        .withClazz(named(type))
                                        .withObjectRef(ref)
                                        .withField(field(type, name, 0))
                                        .withValueObjectRef(valueRef)
                                        .withContext(context())));
  }

  Reply control(int command, Obj... params) {
    return exchange(new Message()
                        .withMessageType((byte) CONTROL_REQUEST)
                        .withControlMessage(new ControlMessage()
                                                .withFromPeer(uuidBytes())
                                                .withMessageId(UUID.randomUUID().toString())
                                                .withCommand((byte) command)
                                                .withParams(params)));
  }

  Reply meta(int service, Obj... params) {
    return exchange(new Message()
                        .withMessageType((byte) META_REQUEST)
                        .withMetaMessage(new MetaMessage()
                                             .withFromPeer(uuidBytes())
                                             .withMessageId(UUID.randomUUID().toString())
                                             .withService((byte) service)
                                             .withParams(params)));
  }

  @Override
  public void close() {
    socket.close();
  }
}
