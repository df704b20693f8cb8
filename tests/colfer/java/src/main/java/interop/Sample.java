package interop;

import java.util.HexFormat;
import jpeer.ColferStruct;

/** A struct of the schema as bytes, right ones or wrong ones. */
record Sample(Class<? extends ColferStruct> type, byte[] bytes) {
  Sample with(byte[] others) {
    return new Sample(type, others);
  }

  @Override
  public String toString() {
    String hex = HexFormat.of().formatHex(bytes);
    return type.getSimpleName() + " of " + bytes.length + " bytes "
        + (hex.length() > 2000 ? hex.substring(0, 2000) + "..." : hex);
  }
}
