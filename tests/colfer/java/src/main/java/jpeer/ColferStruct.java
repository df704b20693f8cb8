package jpeer;

import java.nio.BufferOverflowException;
import java.util.Arrays;

/** The common base of all generated structs; the generator makes them extend it. */
public abstract class ColferStruct {
  /** Writes this from the offset on, and returns the index after it. */
  public abstract int marshal(byte[] bytes, int offset);

  /** Reads this from the offset on, and returns the index after it. */
  public abstract int unmarshal(byte[] bytes, int offset, int end);

  public byte[] toBytes() {
    for (int size = 4096;; size *= 4) {
      try {
        byte[] bytes = new byte[size];
        return Arrays.copyOf(bytes, marshal(bytes, 0));
      } catch (BufferOverflowException e) {
        // It needs more than that.
      }
    }
  }
}
