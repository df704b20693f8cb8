package client;

import static client.Structs.bare;
import static client.Structs.nothing;
import static client.Structs.value;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.zip.GZIPInputStream;
import jpeer.Obj;

/** fetch_classes_info. */
final class Metadata extends Suite {
  private static final String CALCULATOR = "[\"fixtures.Calculator\"]";

  Metadata(String address) {
    super(address);
  }

  private static String unzip(String body) throws IOException {
    try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(body)))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private String fetch(Obj... params) {
    return client.meta(Client.FETCH_CLASSES_INFO, params).tells(Client.OK);
  }

  private static void checkCalculator(String json) {
    Check.begins("[{", json, "the body");
    Check.contains("\"className\":\"fixtures.Calculator\"", json, "the body");
    Check.contains("\"name\":\"addLong\"", json, "the body");
    Check.that(!json.contains("fixtures.User"), "the body has more than was asked for");
  }

  private void checkRefused(String reason, Obj... params) {
    Check.contains(reason, client.meta(Client.FETCH_CLASSES_INFO, params).tells(Client.ERROR), "the body");
  }

  public void byPlace() throws IOException {
    checkCalculator(fetch(value("boolean", "false"), value("boolean", "false"), value("[Ljava.lang.String;", "[]"),
        value("[Ljava.lang.String;", CALCULATOR)));
    checkCalculator(fetch(bare("false"), nothing("boolean"), new Obj(), bare(CALCULATOR)));
    checkCalculator(unzip(fetch(new Obj(), new Obj(), new Obj(), bare(CALCULATOR))));
  }

  public void byName() throws IOException {
    checkCalculator(unzip(
        fetch(bare("{\"name\":\"include_classes\",\"type\":\"java.lang.String[]\",\"value\":" + CALCULATOR + "}"))));
    checkCalculator(fetch(bare("{\"name\":\"include_classes\",\"value\":" + CALCULATOR + "}"),
        bare("{\"name\":\"compress_encode\",\"type\":\"boolean\",\"value\":false}")));
  }

  public void withAncestry() {
    String without = fetch(bare("false"), bare("false"), new Obj(), bare("[\"fixtures.Subclass\"]"));
    String with = fetch(bare("false"), bare("true"), new Obj(), bare("[\"fixtures.Subclass\"]"));
    Check.contains("\"inheritedFrom\"", with, "the body");
    Check.that(!without.contains("\"inheritedFrom\""), "members are inherited that nobody asked for");
  }

  public void withExclusions() {
    String body = fetch(
        bare("false"), bare("false"), bare("[\"fixtures.Ca\"]"), bare("[\"fixtures.Calculator\",\"fixtures.User\"]"));
    Check.that(!body.contains("fixtures.Calculator") && body.contains("fixtures.User"), "the body is " + body);
  }

  public void everything() throws IOException {
    String body = unzip(fetch());
    Check.contains("\"className\":\"fixtures.Calculator\"", body, "the body");
    Check.contains("\"className\":\"java.lang.String\"", body, "the body");
  }

  public void wrongArguments() {
    checkRefused("compress_encode", bare("5"));
    checkRefused("compress_encode", value("java.lang.String", "\"true\""));
    checkRefused("exclude_prefixes", new Obj(), new Obj(), bare("true"));
    checkRefused("include_classes", new Obj(), new Obj(), new Obj(), bare("[1]"));
    checkRefused("argument 4", new Obj(), new Obj(), new Obj(), new Obj(), new Obj());
    checkRefused("argument 0", bare("{\"name\":\"colour\",\"value\":1}"));
    checkRefused("argument 0", bare("{\"value\":true}"));
    checkRefused("argument 1", bare("true"), bare("{\"name\":\"merge_ancestry\",\"value\":true}"));
    checkRefused("argument 0", bare("{\"name\":"));
  }

  public void unknownService() {
    for (int service : new int[] {0, 2, 255}) {
      Check.that(!client.meta(service).tells(Client.UNSUPPORTED).isEmpty(), "no reason is given");
    }
  }
}
