package interop;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.Random;
import jpeer.ColferStruct;

/** Structs with random fields, the bounds of the encoding among them. */
final class RandomStructs {
  private static final int DEPTH_MAX = 30;
  private static final int[] INTS = {1, 127, 128, (1 << 21) - 1, 1 << 21, Integer.MAX_VALUE, Integer.MIN_VALUE, -1};
  private static final long[] LONGS = {1, 127, 128, (1L << 49) - 1, 1L << 49, Long.MAX_VALUE, Long.MIN_VALUE, -1};
  private static final int[] LENGTHS = {1, 2, 126, 127, 128, 129, 300};
  private static final int[] RARE_LENGTHS = {16383, 16384, 70000};
  private static final int[] COUNTS = {1, 1, 1, 2, 2, 3, 4};
  private static final int[] RARE_COUNTS = {127, 128, 300};
  private static final int[] LAST_CODE_POINTS = {0x7f, 0x7ff, 0xffff, 0x10ffff};

  private final Random random;

  RandomStructs(long seed) {
    random = new Random(seed);
  }

  ColferStruct make(Class<? extends ColferStruct> type) {
    return make(type, 0);
  }

  private ColferStruct make(Class<? extends ColferStruct> type, int depth) {
    ColferStruct struct = GeneratedCodec.create(type);
    for (Field field : GeneratedCodec.fieldsOf(type)) {
      try {
        if (random.nextBoolean()) {
          field.set(struct, valueOf(field.getType(), depth));
        }
      } catch (IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
    }
    return struct;
  }

  private Object valueOf(Class<?> type, int depth) {
    if (type == boolean.class) {
      return true;
    } else if (type == byte.class) {
      return (byte) random.nextInt(256);
    } else if (type == int.class) {
      return random.nextBoolean() ? oneOf(INTS) : random.nextInt() >>> random.nextInt(32);
    } else if (type == long.class) {
      return random.nextBoolean() ? LONGS[random.nextInt(LONGS.length)] : random.nextLong() >>> random.nextInt(64);
    } else if (type == String.class) {
      return text();
    } else if (type == byte[].class) {
      return octets();
    } else if (type.isArray()) {
      return list(type.getComponentType(), depth);
    }
    return depth >= DEPTH_MAX ? null : make(type.asSubclass(ColferStruct.class), depth + 1);
  }

  private int oneOf(int[] numbers) {
    return numbers[random.nextInt(numbers.length)];
  }

  private int length() {
    return random.nextInt(2000) == 0 ? oneOf(RARE_LENGTHS)
        : random.nextInt(4) == 0     ? oneOf(LENGTHS)
                                     : random.nextInt(20);
  }

  private byte[] octets() {
    byte[] octets = new byte[length()];
    random.nextBytes(octets);
    return octets;
  }

  private String text() {
    int length = length();
    int last = oneOf(LAST_CODE_POINTS);
    StringBuilder text = new StringBuilder(length);
    while (text.length() < length) {
      int point = random.nextInt(last + 1);
      if (point < Character.MIN_SURROGATE || point > Character.MAX_SURROGATE) {
        text.appendCodePoint(point);
      }
    }
    return text.toString();
  }

  private Object list(Class<?> type, int depth) {
    int count = random.nextInt(500) == 0 ? oneOf(RARE_COUNTS) : oneOf(COUNTS);
    Object list = Array.newInstance(type, depth >= DEPTH_MAX ? 0 : count);
    for (int i = 0; i < Array.getLength(list); i++) {
      Array.set(list, i, valueOf(type, depth + 1));
    }
    return list;
  }
}
