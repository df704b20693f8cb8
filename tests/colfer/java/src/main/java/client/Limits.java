package client;

import static client.Structs.method;
import static client.Structs.value;

import jpeer.Throwable;

/** Answers and requests that are too long, on a peer with --message-max 65536. */
final class Limits extends Suite {
  private static final int MESSAGE_MAX = 65536;

  Limits(String address) {
    super(address);
  }

  public void resultThatIsTooLongComesAsItsRef() {
    int text = client.call("fixtures.Arguments", "longText", value("int", String.valueOf(MESSAGE_MAX)))
                   .returnsRef("java.lang.String", method("fixtures.Arguments", "longText", 9));
    client.callOn(text, "java.lang.String", "length")
        .returns(value("int", String.valueOf(MESSAGE_MAX)), method("java.lang.String", "length", 1));
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

  public void collectionThatIsTooLongComesAsItsRef() {
    String element = "\""
        + "x".repeat(300) + "\"";
    int list =
        client.call("java.util.Collections", "nCopies", value("int", "999"), value("java.lang.Object", element))
            .returnsRef("java.util.Collections$CopiesList", method("java.util.Collections", "nCopies", 9));
    client.callOn(list, "java.util.Collections$CopiesList", "size")
        .returns(value("int", "999"), method("java.util.Collections$CopiesList", "size", 1));
  }
}
