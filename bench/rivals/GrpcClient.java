import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** The load for gRPC: a channel is a connection, and the end of a call begins the next call, on Netty's own
 * threads. */
public final class GrpcClient {
  private GrpcClient() {}

  /** The calls of one lane. Each is made when the previous call has ended. */
  private static final class Caller implements StreamObserver<int[]> {
    private final Channel channel;
    private final Load load;
    private final Load.Lane lane;
    private final CountDownLatch open;
    private int sum;

    Caller(Channel channel, Load load, Load.Lane lane, CountDownLatch open) {
      this.channel = channel;
      this.load = load;
      this.lane = lane;
      this.open = open;
    }

    void call() {
      ClientCalls.asyncUnaryCall(
          channel.newCall(GrpcCalculator.ADD, CallOptions.DEFAULT), new int[] {lane.a, lane.b}, this);
    }

    @Override
    public void onNext(int[] answer) {
      sum = answer[0];
    }

    @Override
    public void onCompleted() {
      if (lane.answered(sum)) {
        call();
      } else {
        open.countDown();
      }
    }

    @Override
    public void onError(Throwable thrown) {
      load.fail(thrown);
      open.countDown();
    }
  }

  private static void run(String target, Load load, int connections) throws InterruptedException {
    List<Load.Lane> lanes = load.lanes();
    CountDownLatch open = new CountDownLatch(lanes.size());
    List<ManagedChannel> channels = new ArrayList<>();
    for (int i = 0; i < connections; i++) {
      channels.add(NettyChannelBuilder.forTarget(target).usePlaintext().directExecutor().build());
    }
    for (int i = 0; i < lanes.size(); i++) {
      new Caller(channels.get(i * connections / lanes.size()), load, lanes.get(i), open).call();
    }
    open.await();
    channels.forEach(ManagedChannel::shutdownNow);
  }

  public static void main(String[] arguments) throws Exception {
    String target = arguments[0].substring("grpc://".length());
    Load.serve((load, connections) -> run(target, load, connections), arguments[1]);
  }
}
