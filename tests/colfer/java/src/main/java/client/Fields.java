package client;

import static client.Structs.bare;
import static client.Structs.constructor;
import static client.Structs.field;
import static client.Structs.fieldOf;
import static client.Structs.nothing;
import static client.Structs.ref;
import static client.Structs.value;

import jpeer.Obj;

/** Getting and putting fields of classes and of objects. */
final class Fields extends Suite {
  private static final String FIELDS = "fixtures.Fields";

  Fields(String address) {
    super(address);
  }

  private int create() {
    return client.create(FIELDS).returnsRef(FIELDS, constructor(FIELDS));
  }

  private void checkPut(int object, String name, String type, String json) {
    client.putOf(object, FIELDS, name, value(type, json)).putField(field(FIELDS, name, 1));
    client.getOf(object, FIELDS, name).returns(value(type, json), fieldOf(FIELDS, name, 1));
  }

  public void getsAndPutsStaticField() {
    client.put(FIELDS, "aStatic", value("int", "42")).putStatic(field(FIELDS, "aStatic", 9));
    client.get(FIELDS, "aStatic").returns(value("int", "42"), fieldOf(FIELDS, "aStatic", 9));
    client.put(FIELDS, "aStatic", bare("12")).putStatic(field(FIELDS, "aStatic", 9));
    client.get(FIELDS, "aStatic").returns(value("int", "12"), fieldOf(FIELDS, "aStatic", 9));
  }

  public void getsAndPutsFieldsOfEveryType() {
    int object = create();
    checkPut(object, "aBoolean", "boolean", "false");
    checkPut(object, "aByte", "byte", "-128");
    checkPut(object, "aShort", "short", "32767");
    checkPut(object, "aChar", "char", "\"\u00e4\"");
    checkPut(object, "anInt", "int", "-2147483648");
    checkPut(object, "aLong", "long", "9223372036854775807");
    checkPut(object, "aFloat", "float", "0.1");
    checkPut(object, "aDouble", "double", "-0.5");
    checkPut(object, "aString", "java.lang.String", "\"a \\\"quoted\\\" text\"");
    checkPut(object, "anInteger", "java.lang.Integer", "7");
  }

  public void tellsModifiers() {
    int object = create();
    client.getOf(object, FIELDS, "aVolatile").returns(value("int", "10"), fieldOf(FIELDS, "aVolatile", 0x41));
    client.getOf(object, FIELDS, "aTransient").returns(value("int", "11"), fieldOf(FIELDS, "aTransient", 0x81));
    client.getOf(object, FIELDS, "instanceFinal").returns(value("int", "14"), fieldOf(FIELDS, "instanceFinal", 0x11));
    client.get(FIELDS, "STATIC_FINAL").returns(value("int", "13"), fieldOf(FIELDS, "STATIC_FINAL", 0x19));
    client.get("fixtures.Members", "privateStaticField")
        .returns(value("java.lang.String", "\"private static field\""),
            fieldOf("fixtures.Members", "privateStaticField", 0x0a));
  }

  public void putsNull() {
    int object = create();
    client.putOf(object, FIELDS, "aString", nothing("java.lang.String")).putField(field(FIELDS, "aString", 1));
    client.getOf(object, FIELDS, "aString").returns(nothing("java.lang.String"), fieldOf(FIELDS, "aString", 1));
    client.getOf(object, FIELDS, "anObject").returns(nothing("java.lang.Object"), fieldOf(FIELDS, "anObject", 1));
  }

  public void putsObjectByRef() {
    int object = create();
    int user = client.create("fixtures.User", value("java.lang.String", "\"Bob\""), value("int", "1"))
                   .returnsRef("fixtures.User", constructor("fixtures.User"));
    client.putRefOf(object, FIELDS, "user", user).putField(field(FIELDS, "user", 1));
    Obj same = new Obj().withClazz(Structs.named("fixtures.User")).withRef(user);
    client.getOf(object, FIELDS, "user").returns(same, fieldOf(FIELDS, "user", 1));
    client.putOf(object, FIELDS, "anObject", ref(user)).putField(field(FIELDS, "anObject", 1));
    client.getOf(object, FIELDS, "anObject").returns(same, fieldOf(FIELDS, "anObject", 1));
  }

  public void putsArray() {
    int object = create();
    client.putOf(object, FIELDS, "ints", value("[I", "[7,8]")).putField(field(FIELDS, "ints", 1));
    client.getOf(object, FIELDS, "ints").returnsRef("[I", "[7,8]", fieldOf(FIELDS, "ints", 1));
  }

  public void refusesWhatCannotBePut() {
    client.put(FIELDS, "STATIC_FINAL", value("int", "1"))
        .refuses("java.lang.IllegalAccessException", "", fieldOf(FIELDS, "STATIC_FINAL", 0x19));
    client.put(FIELDS, "aStatic", value("java.lang.String", "\"x\""))
        .refuses("java.lang.IllegalArgumentException", "value: ", null);
    client.put(FIELDS, "aStatic", null).refuses("java.lang.IllegalArgumentException", "Value is missing", null);
    client.get(FIELDS, "noSuchField").refuses("java.lang.NoSuchFieldException", "", null);
    client.getOf(0, FIELDS, "anInt").refuses("java.lang.IllegalArgumentException", "", null);
    client.getOf(999_999, FIELDS, "anInt")
        .refuses("java.lang.NullPointerException", "No object found with objRef: 999999", null);
  }
}
