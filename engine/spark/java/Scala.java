package deltagateway;

import scala.jdk.javaapi.CollectionConverters;

/** The few conversions between Java's and Scala's collections that the other classes need. */
final class Scala {
  private Scala() {}

  static scala.collection.immutable.Seq seq(java.util.List list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  static java.util.List list(scala.collection.Seq seq) {
    return CollectionConverters.asJava(seq);
  }

  static scala.collection.immutable.Map emptyMap() {
    return scala.collection.immutable.Map$.MODULE$.empty();
  }

  static scala.Option none() {
    return scala.Option.empty();
  }

  static scala.reflect.ClassTag classTag(Class type) {
    return scala.reflect.ClassTag$.MODULE$.apply(type);
  }
}
