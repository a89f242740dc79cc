package deltagateway.internals;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.unsafe.Platform;
import scala.Function0;
import scala.Option;
import scala.PartialFunction;
import scala.PartialFunction$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Conversions between the types of Java and of Scala that Spark's methods take and return. */
public final class ScalaConversions {
  private ScalaConversions() {}

  public static <T> Seq<T> seq(List<? extends T> list) {
    return CollectionConverters.<T>asScala(Collections.unmodifiableList(list)).toSeq();
  }

  /** Returns a sequence of one item. */
  public static <T> Seq<T> one(T item) {
    return seq(Collections.singletonList(item));
  }

  public static <T> Seq<T> emptySeq() {
    return seq(List.of());
  }

  public static <T> List<T> list(scala.collection.Seq<T> seq) {
    return CollectionConverters.asJava(seq);
  }

  public static <K, V> Map<K, V> emptyMap() {
    return Map$.MODULE$.empty();
  }

  public static <K, V> Map<K, V> map(java.util.Map<K, V> map) {
    return Map$.MODULE$.from(CollectionConverters.asScala(map));
  }

  public static <T> Option<T> none() {
    return Option.empty();
  }

  /** Returns the item of an option; null if it is empty. */
  public static <T> T orNull(Option<T> option) {
    return option.isDefined() ? option.get() : null;
  }

  public static <T> ClassTag<T> classTag(Class<T> type) {
    return ClassTag$.MODULE$.apply(type);
  }

  /** Returns a function of Scala that throws the exceptions of `work`, checked ones too. */
  public static <T> Function0<T> function(Callable<T> work) {
    return () -> {
      try {
        return work.call();
      } catch (Exception failure) {
        Platform.throwException(failure);
        return null; // not reached
      }
    };
  }

  /** Change of a tree's node; returns a node that needs none as it is. */
  @FunctionalInterface
  public interface Rewrite<T> {
    T apply(T node) throws Exception;
  }

  /** Returns the argument of the `transform` methods of Spark's trees that applies `change`. */
  public static <T> PartialFunction<T, T> rewrite(Rewrite<T> change) {
    return PartialFunction$.MODULE$.fromFunction(
        node -> function(() -> change.apply(node)).apply());
  }
}
