package deltagateway.internals;

import java.util.List;
import scala.Function1;
import scala.PartialFunction;
import scala.PartialFunction$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The few conversions between Java's and Scala's collections that the other classes need. */
public final class ScalaConversions {
  private ScalaConversions() {}

  public static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
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

  /** Returns a rule for the transformation of trees; it returns other nodes unchanged. */
  public static <T> PartialFunction<T, T> rule(Function1<T, T> rule) {
    return PartialFunction$.MODULE$.fromFunction(rule);
  }

  public static <T> scala.Option<T> none() {
    return scala.Option.empty();
  }

  public static <T> scala.reflect.ClassTag<T> classTag(Class<T> type) {
    return scala.reflect.ClassTag$.MODULE$.apply(type);
  }
}
