package client;

import static client.Structs.fieldOf;
import static client.Structs.method;
import static client.Structs.value;

/** Objects whose class has a text have it as their value, beside the ref. */
final class Texts extends Suite {
  Texts(String address) {
    super(address);
  }

  public void ofAnEnumConstant() {
    client.get("fixtures.Color", "RED")
        .returnsRef("fixtures.Color", "\"RED\"", fieldOf("fixtures.Color", "RED", 0x4019));
  }

  public void ofADate() {
    client.call("java.time.LocalDate", "parse", value("java.lang.String", "\"2024-02-29\""))
        .returnsRef("java.time.LocalDate", "\"2024-02-29\"", method("java.time.LocalDate", "parse", 9));
  }
}
