package client;

import java.nio.charset.StandardCharsets;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** A REQ socket that is connected to the peer. Each message has to be answered before the next. */
final class PeerSocket implements AutoCloseable {
  private static final int ANSWER_MILLISECONDS = 60_000;
  /** At times the handshake with libzmq stalls until this ends; JeroMQ then connects anew. Its default is 30 s. */
  private static final int HANDSHAKE_MILLISECONDS = 2000;
  private static final ZContext CONTEXT = new ZContext();

  private final ZMQ.Socket socket;

  PeerSocket(String address, String identity) {
    socket = CONTEXT.createSocket(SocketType.REQ);
    socket.setIdentity(identity.getBytes(StandardCharsets.US_ASCII));
    socket.setReceiveTimeOut(ANSWER_MILLISECONDS);
    socket.setSendTimeOut(ANSWER_MILLISECONDS);
    socket.setHandshakeIvl(HANDSHAKE_MILLISECONDS);
    socket.setLinger(0);
    socket.connect(address);
  }

  byte[] exchange(byte[] message) {
    Checks.that(socket.send(message), "the message was not sent");
    byte[] answer = socket.recv();
    Checks.that(answer != null, "no answer came");
    Checks.that(!socket.hasReceiveMore(), "the answer has more than one part");
    return answer;
  }

  @Override
  public void close() {
    CONTEXT.destroySocket(socket);
  }
}
