package client;

import static client.Structs.constructor;
import static client.Structs.method;
import static client.Structs.value;

import jpeer.Throwable;

/** Answers and requests that are too long, on a peer with --message-max 65536. */
final class Limits extends Suite {
  private static final int MESSAGE_MAX = 65536;

  Limits(String address) {
    super(address);
  }

  public void answerThatIsTooLong() {
    Throwable throwable = client.call("fixtures.Arguments", "longText", value("int", String.valueOf(MESSAGE_MAX)))
                              .raised(method("fixtures.Arguments", "longText", 9));
    Check.equal("java.lang.IllegalStateException", throwable.Type, "the throwable");
    Check.contains(String.valueOf(MESSAGE_MAX), throwable.message, "its message");
    client.control(Client.PING).controls(Client.OK);
  }

  public void requestThatIsTooLong() {
    Reply reply = client.call("fixtures.Arguments", "lengthOf",
        value("java.lang.String",
            "\""
                + "x".repeat(MESSAGE_MAX) + "\""));
    Throwable throwable = reply.raised(null);
    Check.equal("java.util.concurrent.RejectedExecutionException", throwable.Type, "the throwable");
    Check.contains(String.valueOf(MESSAGE_MAX), throwable.message, "its message");
    client.control(Client.PING).controls(Client.OK);
  }

  public void requestThatIsJustShortEnough() {
    int length = MESSAGE_MAX - 1000;
    client
        .call("fixtures.Arguments", "lengthOf",
            value("java.lang.String",
                "\""
                    + "x".repeat(length) + "\""))
        .returns(value("int", String.valueOf(length)), method("fixtures.Arguments", "lengthOf", 9));
  }

  public void objectOfAnAnswerThatIsTooLongIsNotKept() {
    int before = client.create("java.lang.Object").returnsRef("java.lang.Object", constructor("java.lang.Object"));
    String element = "\""
        + "x".repeat(300) + "\"";
    client.call("java.util.Collections", "nCopies", value("int", "999"), value("java.lang.Object", element))
        .raised(method("java.util.Collections", "nCopies", 9));
    for (int ref = before + 1; ref < before + 4; ref++) {
      client.callOn(ref, "java.util.List", "size").refuses("java.lang.NullPointerException", "No object found", null);
    }
  }
}
