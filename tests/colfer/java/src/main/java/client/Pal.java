package client;

import static client.Structs.constructor;
import static client.Structs.fieldOf;
import static client.Structs.method;
import static client.Structs.named;
import static client.Structs.ref;
import static client.Structs.value;

import jpeer.Obj;
import jpeer.Throwable;

/** What --compat pal changes in binary messages, too. */
final class Pal extends Suite {
  Pal(String address) {
    super(address);
  }

  /** The array's constructor is told, as the policy is asked, by the class of the elements. */
  public void arrayOfObjectsHasTheRefsOfItsElements() {
    int user = client.create("fixtures.User", value("java.lang.String", "\"Bob\""), value("int", "1"))
                   .returnsRef("fixtures.User", constructor("fixtures.User"));
    int array = client.create("[Lfixtures.User;", ref(user), new Obj())
                    .returnsRef("[Lfixtures.User;", "[" + user + ",null]", constructor("fixtures.User"));
    client.call("fixtures.Arguments", "echoObject", ref(array))
        .returns(new Obj().withClazz(named("[Lfixtures.User;")).withRef(array).withValue("[" + user + ",null]"),
            method("fixtures.Arguments", "echoObject", 9));
  }

  public void enumConstantHasNoText() {
    client.get("fixtures.Color", "RED").returnsRef("fixtures.Color", fieldOf("fixtures.Color", "RED", 0x4019));
  }

  public void namesOfPalAreDenied() {
    Throwable throwable = client.call("io.quasient.pal.core.Peer", "x").raised(null);
    Check.equal("io.quasient.pal.core.rpc.policy.RpcAccessDeniedException", throwable.Type, "the throwable");
    Check.begins("RPC access denied: io.quasient.pal.core.Peer.x via ", throwable.message, "its message");
  }
}
