package interop;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.charset.StandardCharsets;
import java.util.InputMismatchException;
import java.util.Objects;
import java.util.stream.Stream;
import jpeer.ColferStruct;
import jpeer.Message;

/**
 * The codec in Java that Colfer's compiler generated, as a program: reads samples, and writes its verdicts
 * (tests/colfer/frames.h has their form). It refuses all that the peer does not serve.
 */
public final class GeneratedCodec {
  private GeneratedCodec() {}

  public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
    DataInputStream samples = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
    DataOutputStream verdicts = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
    for (int length = samples.read(); length >= 0; length = samples.read()) {
      String name = new String(samples.readNBytes(length), StandardCharsets.US_ASCII);
      byte[] bytes = samples.readNBytes(samples.readInt());
      boolean accepted = true;
      try {
        bytes = reencode(name, bytes);
      } catch (BufferUnderflowException | InputMismatchException | SecurityException | StackOverflowError e) {
        accepted = false;
        bytes = e.toString().getBytes(StandardCharsets.UTF_8);
      }
      verdicts.writeBoolean(accepted);
      verdicts.writeInt(bytes.length);
      verdicts.write(bytes);
      verdicts.flush();
    }
  }

  private static byte[] reencode(String name, byte[] bytes) throws ReflectiveOperationException {
    ColferStruct struct = (ColferStruct) Class.forName("jpeer." + name).getConstructor().newInstance();
    int end = struct.unmarshal(bytes, 0, bytes.length);
    if (end != bytes.length) {
      throw new InputMismatchException("bytes after the struct, from " + end);
    }
    if (struct instanceof Message m
        && Stream.of(m.intercept4, m.intercept5, m.intercept6, m.intercept7, m.intercept8).anyMatch(Objects::nonNull)) {
      throw new InputMismatchException("an intercept message");
    }
    return struct.toBytes();
  }
}
