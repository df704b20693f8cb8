package client;

import static client.Structs.method;
import static client.Structs.nothing;
import static client.Structs.ref;
import static client.Structs.value;

import jpeer.Reflectable;

/** Values of every kind, there and back. */
final class Values extends Suite {
  private static final String ARGUMENTS = "fixtures.Arguments";
  private static final Reflectable ECHO_OBJECT = method(ARGUMENTS, "echoObject", 9);

  Values(String address) {
    super(address);
  }

  private void checkEcho(String method, String type, String... texts) {
    for (String json : texts) {
      client.call(ARGUMENTS, method, value(type, json)).returns(value(type, json), method(ARGUMENTS, method, 9));
    }
  }

  private void checkEchoWithRef(String method, String type, String... texts) {
    for (String json : texts) {
      client.call(ARGUMENTS, method, value(type, json)).returnsRef(type, json, method(ARGUMENTS, method, 9));
    }
  }

  public void primitives() {
    checkEcho("echoBoolean", "boolean", "true", "false");
    checkEcho("echoByte", "byte", "-128", "127");
    checkEcho("echoShort", "short", "-32768", "32767");
    checkEcho("echoChar", "char", "\"x\"", "\"\\\"\"", "\"\u20ac\"");
    checkEcho("echoInt", "int", "-2147483648", "0", "2147483647");
    checkEcho("echoLong", "long", "-9223372036854775808", "9223372036854775807");
    checkEcho("echoFloat", "float", "0.1", "-3.4028235E38");
    checkEcho("echoDouble", "double", "0.1", "-1.7976931348623157E308", "4.9E-324");
  }

  public void numbersThatJsonLacks() {
    for (String name : new String[] {"NaN", "Infinity", "-Infinity"}) {
      client.call(ARGUMENTS, "echoDouble", value("double", "\"" + name + "\""))
          .returns(value("double", "\"" + name + "\""), method(ARGUMENTS, "echoDouble", 9));
    }
  }

  public void wrappers() {
    checkEcho("echoBoxedBoolean", "java.lang.Boolean", "true");
    checkEcho("echoBoxedByte", "java.lang.Byte", "1");
    checkEcho("echoBoxedShort", "java.lang.Short", "2");
    checkEcho("echoBoxedChar", "java.lang.Character", "\"c\"");
    checkEcho("echoBoxedInt", "java.lang.Integer", "4");
    checkEcho("echoBoxedLong", "java.lang.Long", "5");
    checkEcho("echoBoxedFloat", "java.lang.Float", "6.5");
    checkEcho("echoBoxedDouble", "java.lang.Double", "7.25");
  }

  public void strings() {
    checkEcho("echoString", "java.lang.String", "\"\"", "\"Alice\"", "\"a \\\"b\\\" \\\\ c\"",
        "\"\u00e4\u20ac\ud83d\ude00\"",
        "\""
            + "x".repeat(127) + "\"",
        "\""
            + "y".repeat(128) + "\"",
        "\""
            + "\u00e4".repeat(100_000) + "\"");
  }

  /** A text with a lone surrogate travels as JSON's escape, since Colfer's texts are UTF-8. */
  public void loneSurrogate() {
    checkEcho("echoString", "java.lang.String", "\"a\\ud800b\"");
  }

  public void theTypeIsTheRuntimeClass() {
    client.call(ARGUMENTS, "echoObject", value("java.lang.String", "\"x\""))
        .returns(value("java.lang.String", "\"x\""), ECHO_OBJECT);
    client.call(ARGUMENTS, "echoObject", value("java.lang.Long", "5"))
        .returns(value("java.lang.Long", "5"), ECHO_OBJECT);
  }

  public void nullHasTheDeclaredType() {
    client.call(ARGUMENTS, "echoObject", nothing("java.lang.String")).returns(nothing("java.lang.Object"), ECHO_OBJECT);
    client.call(ARGUMENTS, "echoInts", nothing("[I")).returns(nothing("[I"), method(ARGUMENTS, "echoInts", 9));
    client.call(ARGUMENTS, "echoBoxedInt", nothing("java.lang.Integer"))
        .returns(nothing("java.lang.Integer"), method(ARGUMENTS, "echoBoxedInt", 9));
  }

  public void arrays() {
    checkEchoWithRef("echoInts", "[I", "[]", "[1]", "[1,-2,2147483647]");
    checkEchoWithRef("echoLongs", "[J", "[9223372036854775807]");
    checkEchoWithRef("echoDoubles", "[D", "[0.1,2.5]");
    checkEchoWithRef("echoFloats", "[F", "[0.1]");
    checkEchoWithRef("echoBytes", "[B", "[-128,127]");
    checkEchoWithRef("echoShorts", "[S", "[1,2]");
    checkEchoWithRef("echoChars", "[C", "[\"a\",\"b\"]");
    checkEchoWithRef("echoBooleans", "[Z", "[true,false]");
    checkEchoWithRef("echoStrings", "[Ljava.lang.String;", "[]", "[\"a\",null,\"\"]");
    checkEchoWithRef("echoIntegers", "[Ljava.lang.Integer;", "[1,null]");
  }

  public void arrayByRef() {
    int ref = client.call(ARGUMENTS, "echoInts", value("[I", "[1,2,3]"))
                  .returnsRef("[I", "[1,2,3]", method(ARGUMENTS, "echoInts", 9));
    client.call(ARGUMENTS, "sumInts", ref(ref)).returns(value("int", "6"), method(ARGUMENTS, "sumInts", 9));
    int again = client.call(ARGUMENTS, "echoInts", ref("[I", ref))
                    .returnsRef("[I", "[1,2,3]", method(ARGUMENTS, "echoInts", 9));
    Check.equal(ref, again, "the ref");
  }

  public void longArrayHasNoValue() {
    Reflectable from = method(ARGUMENTS, "manyInts", 9);
    StringBuilder thousand = new StringBuilder("[0");
    for (int i = 1; i < 1000; i++) {
      thousand.append(',').append(i);
    }
    client.call(ARGUMENTS, "manyInts", value("int", "1000")).returnsRef("[I", thousand.append(']').toString(), from);
    client.call(ARGUMENTS, "manyInts", value("int", "1001")).returnsRef("[I", from);
  }

  public void grids() {
    client.call(ARGUMENTS, "sumGrid", value("[[I", "[[1,2],[3]]"))
        .returns(value("int", "6"), method(ARGUMENTS, "sumGrid", 9));
  }

  public void collections() {
    checkEchoWithRef("echoObject", "java.util.ArrayList", "[]", "[1,2]", "[\"a\",null,true,0.5]", "[[1],[]]");
    client.call("java.util.Collections", "emptyList")
        .returnsRef("java.util.Collections$EmptyList", "[]", method("java.util.Collections", "emptyList", 0x19));
    client.call("java.util.Collections", "nCopies", value("int", "1000"), value("java.lang.Object", "1"))
        .returnsRef("java.util.Collections$CopiesList",
            "[1"
                + ",1".repeat(999) + "]",
            method("java.util.Collections", "nCopies", 9));
    client.call("java.util.Collections", "nCopies", value("int", "1001"), value("java.lang.Object", "1"))
        .returnsRef("java.util.Collections$CopiesList", method("java.util.Collections", "nCopies", 9));
  }

  public void maps() {
    checkEchoWithRef("echoObject", "java.util.HashMap", "{}", "{\"a\":1}", "{\"a\":[1,{\"b\":null}]}");
    client
        .call(
            ARGUMENTS, "sumValues", value("java.util.HashMap", "{\"a\":{\"type\":\"double\",\"value\":1.5},\"b\":2.5}"))
        .returns(value("double", "4.0"), method(ARGUMENTS, "sumValues", 9));
  }

  public void collectionOfObjectsHasNoValue() {
    int user = client.create("fixtures.User", value("java.lang.String", "\"Bob\""), value("int", "1"))
                   .returnsRef("fixtures.User", Structs.constructor("fixtures.User"));
    client.call("java.util.Collections", "singletonList", ref(user))
        .returnsRef("java.util.Collections$SingletonList", method("java.util.Collections", "singletonList", 9));
  }

  public void collectionInsideItself() {
    int list = client.create("java.util.ArrayList")
                   .returnsRef("java.util.ArrayList", "[]", Structs.constructor("java.util.ArrayList"));
    client.callOn(list, "java.util.ArrayList", "add", ref("java.lang.Object", list))
        .returns(value("boolean", "true"), method("java.util.ArrayList", "add", 1));
    int again = client.call(ARGUMENTS, "echoObject", ref(list)).returnsRef("java.util.ArrayList", ECHO_OBJECT);
    Check.equal(list, again, "the ref");
  }

  public void valuesFromTexts() {
    client.call(ARGUMENTS, "takeBigDecimal", value("java.math.BigDecimal", "\"12345678901234567890.5\""))
        .returns(value("java.lang.String", "\"12345678901234567890.5\""), method(ARGUMENTS, "takeBigDecimal", 9));
    client.call(ARGUMENTS, "takeColor", value("fixtures.Color", "\"RED\""))
        .returns(value("java.lang.String", "\"plain0\""), method(ARGUMENTS, "takeColor", 9));
    client.call(ARGUMENTS, "takeClass", value("java.lang.Class", "\"fixtures.User\""))
        .returns(value("java.lang.String", "\"fixtures.User\""), method(ARGUMENTS, "takeClass", 9));
  }
}
