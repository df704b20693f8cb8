package scala.collection;

/** As much of Scala's as a client needs. */
public interface Iterator<A> {
  boolean hasNext();

  A next();
}
