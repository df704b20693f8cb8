package client;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import jpeer.Class;
import jpeer.ColferStruct;
import jpeer.Constructor;
import jpeer.Method;
import jpeer.Obj;
import jpeer.Reflectable;

/** Short forms of the structs that requests and replies are made of. */
final class Structs {
  private Structs() {}

  static Class named(String name) {
    return new Class().withName(name);
  }

  /** A value with its type; the value is JSON text. */
  static Obj value(String type, String json) {
    return new Obj().withClazz(named(type)).withValue(json);
  }

  static Obj ref(int ref) {
    return new Obj().withRef(ref);
  }

  static Obj ref(String type, int ref) {
    return new Obj().withClazz(named(type)).withRef(ref);
  }

  static Reflectable method(String type, String name, int modifiers) {
    return new Reflectable().withMethod(new Method().withClazz(named(type)).withName(name).withModifiers(modifiers));
  }

  static Reflectable constructor(String type) {
    return new Reflectable().withConstructor(new Constructor().withClazz(named(type)));
  }

  static jpeer.Field field(String type, String name, int modifiers) {
    return new jpeer.Field().withClazz(named(type)).withName(name).withModifiers(modifiers);
  }

  static Reflectable fieldOf(String type, String name, int modifiers) {
    return new Reflectable().withField(field(type, name, modifiers));
  }

  /** A struct for people: fields with their zero value are left out. */
  static String show(Object value) {
    if (value instanceof ColferStruct) {
      List<String> members = new ArrayList<>();
      for (Field field : value.getClass().getFields()) {
        String member = Modifier.isStatic(field.getModifiers()) ? "" : show(read(field, value));
        if (!List.of("", "0", "false", "\"\"", "null", "[]").contains(member)) {
          members.add(field.getName() + ": " + member);
        }
      }
      return "{" + String.join(", ", members) + "}";
    }
    if (value != null && value.getClass().isArray()) {
      List<String> elements = new ArrayList<>();
      for (int i = 0; i < Array.getLength(value); i++) {
        elements.add(show(Array.get(value, i)));
      }
      return elements.toString();
    }
    return value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
  }

  private static Object read(Field field, Object of) {
    try {
      return field.get(of);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }
}
