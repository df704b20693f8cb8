package interop;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/** What a codec made of a sample: the struct that it read, written again, or its complaint. */
record Verdict(boolean accepted, byte[] bytes) {
  static Verdict refused(String complaint) {
    return new Verdict(false, complaint.getBytes(StandardCharsets.UTF_8));
  }

  boolean gives(byte[] expected) {
    return accepted && Arrays.equals(bytes, expected);
  }

  @Override
  public String toString() {
    return accepted ? "accepted, and written again as " + HexFormat.of().formatHex(bytes)
                    : "refused: " + new String(bytes, StandardCharsets.UTF_8);
  }
}
