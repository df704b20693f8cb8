package interop;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A codec in C, in a process of its own (tests/colfer/frames.h has the form of what goes to and fro). */
final class CodecProgram implements AutoCloseable {
  private final Process process;
  private final DataOutputStream toProgram;
  private final DataInputStream fromProgram;

  CodecProgram(String... command) throws IOException {
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    toProgram = new DataOutputStream(new BufferedOutputStream(process.getOutputStream(), 1 << 16));
    fromProgram = new DataInputStream(new BufferedInputStream(process.getInputStream(), 1 << 16));
  }

  /** What the codec makes of each sample. */
  List<Verdict> reencode(List<Sample> samples) throws IOException {
    CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> send(samples));
    List<Verdict> verdicts = new ArrayList<>(samples.size());
    while (verdicts.size() < samples.size()) {
      verdicts.add(new Verdict(fromProgram.readBoolean(), fromProgram.readNBytes(fromProgram.readInt())));
    }
    sent.join();
    return verdicts;
  }

  private void send(List<Sample> samples) {
    try {
      for (Sample sample : samples) {
        byte[] name = sample.type().getSimpleName().getBytes(StandardCharsets.US_ASCII);
        toProgram.writeByte(name.length);
        toProgram.write(name);
        toProgram.writeInt(sample.bytes().length);
        toProgram.write(sample.bytes());
      }
      toProgram.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Fails where the program did not end well: a sanitizer's complaint would be such an end. */
  @Override
  public void close() throws IOException {
    toProgram.close();
    int status;
    try {
      status = process.waitFor();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
    if (status != 0) {
      throw new IOException("the codec's program ended with " + status);
    }
  }
}
