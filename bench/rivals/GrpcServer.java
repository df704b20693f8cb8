import com.example.Calculator;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;

/**
 * gRPC's server over Netty. If its argument is "direct", a call runs on the thread that has read it, where a
 * slow call would block others. Otherwise calls run on gRPC's pool.
 */
public final class GrpcServer {
  private GrpcServer() {}

  private static void add(int[] operands, StreamObserver<int[]> answer) {
    answer.onNext(new int[] {Calculator.add(operands[0], operands[1])});
    answer.onCompleted();
  }

  public static void main(String[] arguments) throws Exception {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .addService(
                ServerServiceDefinition.builder(GrpcCalculator.SERVICE)
                    .addMethod(GrpcCalculator.ADD, ServerCalls.asyncUnaryCall(GrpcServer::add))
                    .build());
    if (arguments.length == 1 && arguments[0].equals("direct")) {
      builder.directExecutor();
    }
    Server server = builder.build().start();
    Serving.until("grpc://127.0.0.1:" + server.getPort(), server);
  }
}
