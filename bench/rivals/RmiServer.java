import com.example.Calculator;
import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.rmi.Remote;
import java.rmi.server.UnicastRemoteObject;
import java.util.Base64;

/** A remote object. The printed address contains the serialized stub, so that a registry is not needed. */
public final class RmiServer implements RmiCalculator {
  private RmiServer() {}

  @Override
  public int add(int a, int b) {
    return Calculator.add(a, b);
  }

  public static void main(String[] arguments) throws Exception {
    RmiServer server = new RmiServer();
    Remote stub = UnicastRemoteObject.exportObject(server, 0);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(stub);
    }
    Serving.until("rmi://" + Base64.getEncoder().encodeToString(bytes.toByteArray()), server);
  }
}
