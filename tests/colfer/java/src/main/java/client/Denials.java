package client;

import static client.Structs.bare;
import static client.Structs.value;

import jpeer.Throwable;

/** What a policy denies, on a peer with a policy that knows the channel of ZeroMQ by its name (policy.yaml). */
final class Denials extends Suite {
  private static final String DENIED = "io.quasient.pal.core.rpc.policy.RpcAccessDeniedException";

  Denials(String address) {
    super(address);
  }

  private static void checkDenied(Reply reply, String member) {
    Throwable throwable = reply.raised(null);
    Reply.checkThrowable(DENIED, "RPC access denied: " + member + " via ZMQ_SOCKET_RPC", throwable);
  }

  public void allowsWhatTheChannelMayUse() {
    client.call("fixtures.Calculator", "add", value("int", "5"), value("int", "3"))
        .returns(value("int", "8"), Structs.method("fixtures.Calculator", "add", 9));
  }

  public void deniesEveryOperation() {
    checkDenied(client.call("java.lang.System", "exit", value("int", "0")), "java.lang.System.exit");
    checkDenied(client.create("fixtures.User", bare("\"x\""), bare("1")), "fixtures.User.<init>");
    checkDenied(client.get("fixtures.Fields", "aStatic"), "fixtures.Fields.aStatic");
    checkDenied(client.put("fixtures.Fields", "aStatic", value("int", "1")), "fixtures.Fields.aStatic");
    checkDenied(client.callOn(1, "fixtures.User", "getName"), "fixtures.User.getName");
    checkDenied(client.getOf(1, "fixtures.User", "name"), "fixtures.User.name");
    checkDenied(client.putOf(1, "fixtures.User", "name", bare("\"x\"")), "fixtures.User.name");
  }

  public void doesNotTellWhetherThereIsSuchAClass() {
    checkDenied(client.call("fixtures.NoSuchClass", "method"), "fixtures.NoSuchClass.method");
  }

  public void showsWhatIsAllowed() {
    String body = client.meta(Client.FETCH_CLASSES_INFO, bare("false")).tells(Client.OK);
    Check.contains("fixtures.Calculator", body, "the body");
    Check.that(!body.contains("fixtures.User"), "the body has what is denied");
  }
}
