import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/** The description of the one method, written by hand in place of a code generator. Each message is ints of
 * four bytes. */
final class GrpcCalculator {
  static final String SERVICE = "bench.Calculator";

  static final MethodDescriptor<int[], int[]> ADD =
      MethodDescriptor.<int[], int[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Add"))
          .setRequestMarshaller(new Ints(2))
          .setResponseMarshaller(new Ints(1))
          .build();

  private GrpcCalculator() {}

  private record Ints(int count) implements MethodDescriptor.Marshaller<int[]> {
    @Override
    public InputStream stream(int[] values) {
      ByteBuffer bytes = ByteBuffer.allocate(count * Integer.BYTES);
      bytes.asIntBuffer().put(values);
      return new ByteArrayInputStream(bytes.array());
    }

    @Override
    public int[] parse(InputStream stream) {
      try {
        int[] values = new int[count];
        ByteBuffer.wrap(stream.readNBytes(count * Integer.BYTES)).asIntBuffer().get(values);
        return values;
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }
}
