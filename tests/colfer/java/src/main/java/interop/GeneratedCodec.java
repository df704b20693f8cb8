package interop;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.BufferUnderflowException;
import java.util.ArrayList;
import java.util.InputMismatchException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import jpeer.ColferStruct;
import jpeer.InterceptMessage;
import jpeer.Message;

/** The Java codec that Colfer's compiler generated. */
final class GeneratedCodec {
  /** All structs of the schema that a message has, except for those that the peer does not serve. */
  static final List<Class<? extends ColferStruct>> TYPES = structsIn(Message.class);

  private GeneratedCodec() {}

  /** The fields of a struct, in the order of their indexes. */
  static List<Field> fieldsOf(Class<? extends ColferStruct> type) {
    List<Field> fields = new ArrayList<>();
    for (Field field : type.getFields()) {
      if (!Modifier.isStatic(field.getModifiers()) && field.getType() != InterceptMessage.class) {
        fields.add(field);
      }
    }
    return fields;
  }

  private static List<Class<? extends ColferStruct>> structsIn(Class<? extends ColferStruct> root) {
    Set<Class<? extends ColferStruct>> found = new LinkedHashSet<>();
    collectStructs(root, found);
    return List.copyOf(found);
  }

  private static void collectStructs(Class<? extends ColferStruct> type, Set<Class<? extends ColferStruct>> found) {
    if (!found.add(type)) {
      return;
    }
    for (Field field : fieldsOf(type)) {
      Class<?> inside = field.getType().isArray() ? field.getType().getComponentType() : field.getType();
      if (ColferStruct.class.isAssignableFrom(inside)) {
        collectStructs(inside.asSubclass(ColferStruct.class), found);
      }
    }
  }

  static ColferStruct create(Class<? extends ColferStruct> type) {
    try {
      return type.getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The struct that the bytes are from the first to the last. */
  static ColferStruct decode(Sample sample) {
    ColferStruct struct = create(sample.type());
    int end = struct.unmarshal(sample.bytes(), 0, sample.bytes().length);
    if (end != sample.bytes().length) {
      throw new InputMismatchException("bytes behind the struct, from " + end);
    }
    return struct;
  }

  /** Whether a message that can be read has fields that the peer does not serve. */
  static boolean hasUnserved(Sample sample) {
    return decode(sample) instanceof Message message
        && Stream.of(message.intercept4, message.intercept5, message.intercept6, message.intercept7, message.intercept8)
               .anyMatch(Objects::nonNull);
  }

  static Verdict reencode(Sample sample) {
    try {
      return new Verdict(true, decode(sample).toBytes());
    } catch (BufferUnderflowException | InputMismatchException | SecurityException | StackOverflowError e) {
      return Verdict.refused(e.toString());
    }
  }
}
