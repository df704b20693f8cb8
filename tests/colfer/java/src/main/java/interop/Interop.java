package interop;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Holds the peer's codec against those that Colfer's compiler generates in Java and in C, and prints a line for each
 * kind of samples.
 *
 * <p>usage: Interop PEER_CODEC GENERATED_CODEC SEED COUNT
 */
public final class Interop {
  private static final int BATCH = 480;

  private final CodecProgram peer;
  private final CodecProgram generated;
  private int passed;
  private int failed;

  private Interop(CodecProgram peer, CodecProgram generated) {
    this.peer = peer;
    this.generated = generated;
  }

  public static void main(String[] arguments) throws IOException {
    long seed = Long.parseLong(arguments[2]);
    int count = Integer.parseInt(arguments[3]);
    try (CodecProgram peer = new CodecProgram(arguments[0]); CodecProgram generated = new CodecProgram(arguments[1])) {
      Interop interop = new Interop(peer, generated);
      interop.run(seed, count);
      System.out.println(interop.passed + " passed, " + interop.failed + " failed");
      if (interop.failed > 0) {
        System.exit(1);
      }
    }
  }

  private void run(long seed, int count) throws IOException {
    RandomStructs structs = new RandomStructs(seed);
    Mutations mutations = new Mutations(seed);
    check("edges of the encoding", Law.SAME, source(EdgeSamples.right()));
    check("edges that no codec reads", Law.REFUSED, source(EdgeSamples.wrong()));
    check("edges that the peer does not read", Law.REFUSED_BY_PEER, source(EdgeSamples.wrongToPeer()));
    check("truncated structs", Law.REFUSED, source(truncate(structs)));
    check("random structs", Law.SAME, n -> makeSamples(structs, Math.min(BATCH, count - n)));
    check("changed structs", Law.AGREEMENT,
        n -> changeSamples(mutations, makeSamples(structs, Math.min(BATCH, count - n))));
  }

  /** Gives the samples behind the first n, some at a time; an empty list ends them. */
  private interface Source {
    List<Sample> after(int n) throws IOException;
  }

  private static Source source(List<Sample> samples) {
    return n -> samples.subList(n, Math.min(samples.size(), n + BATCH));
  }

  private static List<Sample> makeSamples(RandomStructs structs, int count) {
    List<Sample> samples = new ArrayList<>(count);
    while (samples.size() < count) {
      var type = GeneratedCodec.TYPES.get(samples.size() % GeneratedCodec.TYPES.size());
      samples.add(new Sample(type, structs.make(type).toBytes()));
    }
    return samples;
  }

  private static List<Sample> changeSamples(Mutations mutations, List<Sample> samples) {
    return samples.stream().map(sample -> sample.with(mutations.mutate(sample.bytes()))).toList();
  }

  /** Every beginning of a struct of each type. */
  private static List<Sample> truncate(RandomStructs structs) {
    final int longest = 1000;
    List<Sample> samples = new ArrayList<>();
    for (Sample sample : makeSamples(structs, GeneratedCodec.TYPES.size())) {
      for (int length = Math.min(longest, sample.bytes().length - 1); length >= 0; length--) {
        samples.add(sample.with(Arrays.copyOf(sample.bytes(), length)));
      }
    }
    return samples;
  }

  private void check(String name, Law law, Source source) throws IOException {
    int n = 0;
    int accepted = 0;
    for (List<Sample> samples = source.after(0); !samples.isEmpty(); samples = source.after(n)) {
      List<Verdict> peers = peer.reencode(samples);
      List<Verdict> generateds = generated.reencode(samples);
      for (int i = 0; i < samples.size(); i++) {
        Sample sample = samples.get(i);
        Verdict java = GeneratedCodec.reencode(sample);
        if (!law.holds(sample, peers.get(i), java, generateds.get(i))) {
          System.out.printf("failed: %s: %s%n  the peer's codec: %s%n  generated Java:   %s%n  generated C:      %s%n",
              name, sample, peers.get(i), java, generateds.get(i));
          failed++;
          return;
        }
        accepted += peers.get(i).accepted() ? 1 : 0;
      }
      n += samples.size();
    }
    System.out.printf("passed: %s: %d, of which the peer's codec reads %d%n", name, n, accepted);
    passed++;
  }
}
