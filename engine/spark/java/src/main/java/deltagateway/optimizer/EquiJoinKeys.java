package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.orNull;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.logical.Join;

/** The expressions of both sides that an equi-join compares, in the same order. */
record EquiJoinKeys(List<Expression> left, List<Expression> right) {
  /** Returns null for a join without equalities. */
  static EquiJoinKeys of(Join join) {
    var keys = orNull(ExtractEquiJoinKeys$.MODULE$.unapply(join));
    return keys == null ? null : new EquiJoinKeys(list(keys._2()), list(keys._3()));
  }
}
