package client;

import static client.Structs.constructor;
import static client.Structs.ref;
import static client.Structs.value;

/** The four control commands, and others. */
final class Controls extends Suite {
  private static final String LIST = "java.util.ArrayList";

  Controls(String address) {
    super(address);
  }

  private int createList() {
    return client.create(LIST).returnsRef(LIST, "[]", constructor(LIST));
  }

  private void checkGone(int ref) {
    client.callOn(ref, LIST, "size")
        .refuses("java.lang.NullPointerException", "No object found with objRef: " + ref, null);
  }

  private void checkThere(int ref) {
    client.callOn(ref, LIST, "size").returns(value("int", "0"), Structs.method(LIST, "size", 1));
  }

  public void ping() {
    Check.equal("", client.control(Client.PING).controls(Client.OK), "the body");
  }

  public void gc() {
    Check.equal("", client.control(Client.GC).controls(Client.OK), "the body");
  }

  public void deleteObject() {
    int kept = createList();
    int deleted = createList();
    Check.equal("", client.control(Client.DELETE_OBJECT, ref(deleted)).controls(Client.OK), "the body");
    checkGone(deleted);
    checkThere(kept);
  }

  public void deleteSeveralObjects() {
    int first = createList();
    int second = createList();
    client.control(Client.DELETE_OBJECT, ref(first), ref(second)).controls(Client.OK);
    checkGone(first);
    checkGone(second);
  }

  public void deleteUnknownObject() {
    int ref = createList();
    Check.begins("No such object", client.control(Client.DELETE_OBJECT, ref(999_999)).controls(Client.NO_SUCH_OBJECT),
        "the body");
    client.control(Client.DELETE_OBJECT, ref(ref), ref(999_999)).controls(Client.NO_SUCH_OBJECT);
    checkGone(ref);
  }

  public void deleteNoObject() {
    String missing = "Missing object ref for delete_object request";
    Check.begins(missing, client.control(Client.DELETE_OBJECT).controls(Client.ERROR), "the body");
    Check.begins(missing, client.control(Client.DELETE_OBJECT, value("int", "1")).controls(Client.ERROR), "the body");
  }

  public void deleteSession() {
    int ref = createList();
    try (Client other = new Client(address)) {
      int others = other.create(LIST).returnsRef(LIST, "[]", constructor(LIST));
      Check.equal("", client.control(Client.DELETE_SESSION).controls(Client.OK), "the body");
      checkGone(ref);
      other.callOn(others, LIST, "size").returns(value("int", "0"), Structs.method(LIST, "size", 1));
    }
    client.control(Client.DELETE_SESSION).controls(Client.OK);
    checkThere(createList());
  }

  public void unknownCommand() {
    for (int command : new int[] {0, 5, 255}) {
      Check.that(!client.control(command).controls(Client.UNSUPPORTED).isEmpty(), "no reason is given");
    }
  }
}
