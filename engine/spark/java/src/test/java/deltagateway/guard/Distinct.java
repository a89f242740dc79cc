package deltagateway.guard;

import deltagateway.internals.ScalaConversions;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Operator without rows that has the name of one of Spark's, in another package. */
final class Distinct extends LogicalPlan {
  @Override
  public Seq<Attribute> output() {
    return ScalaConversions.emptySeq();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return ScalaConversions.emptySeq();
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
    return this;
  }

  @Override
  public int productArity() {
    return 0;
  }

  @Override
  public Object productElement(int index) {
    throw new IndexOutOfBoundsException(index);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Distinct;
  }
}
