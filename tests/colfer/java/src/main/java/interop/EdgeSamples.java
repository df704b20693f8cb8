package interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import jpeer.Class;
import jpeer.ClassMethodCall;
import jpeer.ColferStruct;
import jpeer.ControlMessage;
import jpeer.ExecMessage;
import jpeer.Message;
import jpeer.Obj;
import jpeer.Throwable;

/** Samples at the bounds of the encoding, and just beyond them. */
final class EdgeSamples {
  private static final int LIST_MAX = 64 * 1024;
  private static final long[] NUMBERS = {1, 0x7f, 0x80, (1L << 14) - 1, 1L << 14, (1L << 21) - 1, 1L << 21,
      (1L << 32) - 1, 1L << 32, (1L << 42) - 1, (1L << 49) - 1, 1L << 49, Long.MAX_VALUE, -1};
  private static final int[] LENGTHS = {0, 1, 127, 128, 16383, 16384, (1 << 21) - 1, 1 << 21};
  private static final int[] COUNTS = {0, 1, 127, 128, 300, LIST_MAX};

  private EdgeSamples() {}

  private static Sample sample(ColferStruct struct) {
    return new Sample(struct.getClass(), struct.toBytes());
  }

  static List<Sample> right() {
    List<Sample> samples = new ArrayList<>();
    GeneratedCodec.TYPES.forEach(type -> samples.add(sample(GeneratedCodec.create(type))));
    for (long number : NUMBERS) {
      samples.add(sample(new ExecMessage().withCurrentTime(number).withDispatchSeq((int) number).withEntryPoint(true)));
      samples.add(sample(new Obj().withRef((int) number).withIsNull(number < 0)));
      samples.add(sample(new Message().withMessageType((byte) number)));
    }
    for (int length : LENGTHS) {
      String text = "x".repeat(length);
      samples.add(
          sample(new ExecMessage().withPeerUuid(new byte[length]).withMessageId(text).withThreadAffinity(text)));
      samples.add(sample(new Throwable().withStackTraceElements(new String[] {text, "", text})));
    }
    for (int count : COUNTS) {
      samples.add(
          sample(new Throwable().withStackTraceElements(Collections.nCopies(count, "").toArray(new String[0]))));
      samples.add(sample(new ClassMethodCall().withArgs(objects(count))));
    }
    for (String text :
        List.of("\0", "\u007f\u0080", "\u07ff\u0800", "\ud7ff\ue000\uffff", "\ud800\udc00\udbff\udfff")) {
      samples.add(sample(new Class().withName(text)));
    }
    samples.add(sample(new Message().withControlMessage(new ControlMessage().withParams(objects(2)))));
    samples.add(sample(causes(60)));
    return samples;
  }

  private static Obj[] objects(int count) {
    Obj[] objects = new Obj[count];
    Arrays.setAll(
        objects, i -> i % 2 == 0 ? new Obj() : new Obj().withClazz(new Class().withName("int")).withValue("" + i));
    return objects;
  }

  private static Throwable causes(int depth) {
    Throwable throwable = new Throwable().withType("innermost");
    for (int i = 1; i < depth; i++) {
      throwable = new Throwable().withCause(throwable);
    }
    return throwable;
  }

  private static Sample of(java.lang.Class<? extends ColferStruct> type, String hex) {
    return new Sample(type, HexFormat.of().parseHex(hex.replace(" ", "")));
  }

  static List<Sample> wrong() {
    return List.of(
        of(Message.class, ""),
        of(Message.class, "7f 7f"), // bytes behind the end
        of(Message.class, "09 7f"), // no such field
        of(Message.class, "80 03 7f"), // no second form
        of(Message.class, "00 03 00 03 7f"), // twice
        of(Message.class, "02 7f 01 7f 7f"), // out of order
        of(Message.class, "01 7f"), // one end for two structs
        of(Class.class, "00 05 61 62 7f"), // more than is left
        of(Class.class, "00 ff ff ff ff 07 7f"),
        of(Class.class, "00 ff ff ff ff ff ff ff ff ff 7f"),
        of(Obj.class, "82 00 20 7f"), // three of four fixed bytes
        of(Obj.class, "83 7f"), // a bool has no second form
        of(ExecMessage.class, "83 00 00 00 00 00 00 01 7f"),
        of(ExecMessage.class, "13 03 01 61 7f"), // two of three elements
        of(ClassMethodCall.class, "03 ff ff 03 7f 7f"),
        of(ClassMethodCall.class, "03 ff ff ff ff 0f 7f 7f"), // a count of 2^32-1
        of(Throwable.class, "02 81 80 04 00 7f")); // 65537 elements
  }

  static List<Sample> wrongToPeer() {
    byte[] deep = new byte[20_000];
    Arrays.fill(deep, 0, deep.length / 2, (byte) 3);
    Arrays.fill(deep, deep.length / 2, deep.length, (byte) 0x7f);
    return List.of(
        of(Class.class, "00 01 80 7f"),
        of(Class.class, "00 02 c0 80 7f"), // an overlong form
        of(Class.class, "00 03 ed a0 80 7f"), // a lone surrogate
        of(Class.class, "00 04 f4 90 80 80 7f"), // beyond U+10FFFF
        sample(causes(65)),
        new Sample(Throwable.class, Arrays.copyOfRange(deep, 1, deep.length)),
        new Sample(Throwable.class, Arrays.copyOf(deep, deep.length / 2)));
  }
}
