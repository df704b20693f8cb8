package kotlin.sequences;

/** The same interface as Kotlin's. */
public interface Sequence<T> {
  java.util.Iterator<T> iterator();
}
