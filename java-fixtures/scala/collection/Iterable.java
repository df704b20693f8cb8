package scala.collection;

/** As much of Scala's as a client needs. */
public interface Iterable<A> {
  Iterator<A> iterator();

  int size();
}
