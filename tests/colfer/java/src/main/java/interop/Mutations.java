package interop;

import java.util.Arrays;
import java.util.Random;

/** Changed bytes: most of them are no struct any more, and some are another one. */
final class Mutations {
  private static final int[] TELLING = {0x00, 0x01, 0x7e, 0x7f, 0x80, 0x81, 0xff};
  /** A count or a length that no message holds: 2^32-1, and more digits than any number has. */
  private static final byte[] BOMB = {(byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0x0f};
  private static final byte[] ENDLESS = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

  private final Random random;

  Mutations(long seed) {
    random = new Random(seed);
  }

  byte[] mutate(byte[] bytes) {
    byte[] mutated = mutateOnce(bytes);
    while (random.nextInt(3) == 0) {
      mutated = mutateOnce(mutated);
    }
    return mutated;
  }

  private byte[] mutateOnce(byte[] bytes) {
    int at = random.nextInt(bytes.length + 1);
    int to = Math.min(bytes.length, at + 1 + random.nextInt(8));
    return switch (random.nextInt(8)) {
      case 0 -> replace(bytes, at, Math.min(bytes.length, at + 1), oneTelling());
      case 1 -> replace(bytes, at, at, oneTelling());
      case 2 -> replace(bytes, at, to);
      case 3 -> replace(bytes, at, at, Arrays.copyOfRange(bytes, at, to));
      case 4 -> replace(bytes, at, Math.min(bytes.length, at + 1), BOMB);
      case 5 -> replace(bytes, at, at, ENDLESS);
      default -> flipBit(bytes);
    };
  }

  private byte oneTelling() {
    return (byte) TELLING[random.nextInt(TELLING.length)];
  }

  private byte[] flipBit(byte[] bytes) {
    if (bytes.length == 0) {
      return bytes;
    }
    byte[] flipped = bytes.clone();
    flipped[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
    return flipped;
  }

  private static byte[] replace(byte[] bytes, int from, int to, byte... others) {
    byte[] replaced = Arrays.copyOf(bytes, bytes.length - (to - from) + others.length);
    System.arraycopy(others, 0, replaced, from, others.length);
    System.arraycopy(bytes, to, replaced, from + others.length, bytes.length - to);
    return replaced;
  }
}
