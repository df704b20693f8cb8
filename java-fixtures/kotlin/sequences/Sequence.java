package kotlin.sequences;

/** As Kotlin's. */
public interface Sequence<T> {
  java.util.Iterator<T> iterator();
}
