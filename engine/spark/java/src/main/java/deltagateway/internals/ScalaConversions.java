package deltagateway.internals;

import java.util.List;
import scala.collection.immutable.Map;
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
    return scala.collection.immutable.Map$.MODULE$.empty();
  }

  public static <K, V> Map<K, V> map(java.util.Map<K, V> map) {
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(map));
  }

  public static <T> scala.Option<T> none() {
    return scala.Option.empty();
  }

  public static <T> scala.reflect.ClassTag<T> classTag(Class<T> type) {
    return scala.reflect.ClassTag$.MODULE$.apply(type);
  }
}
