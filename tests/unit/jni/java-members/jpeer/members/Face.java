package jpeer.members;

/** An interface that Faces defines under other names, too. */
public interface Face {
  String face();

  default String twice() {
    return face() + face();
  }
}
