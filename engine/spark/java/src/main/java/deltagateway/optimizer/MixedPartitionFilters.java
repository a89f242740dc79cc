package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import deltagateway.scan.FilteredScan;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's planning of file scans, with the conditions that it keeps from them: `p = 1 OR x > 5`,
 * where p is a constant of the files and x is not. Spark asks a relation for files by conditions on
 * the one or on the other; ours can tell from both at once. The rows are still filtered above the
 * scan; where they can be, by longs ({@link UnscaledDecimalComparisons}).
 *
 * <p>They are for the choice of files alone and have a form that Spark does not push into the
 * files: Parquet would look for the constant in the file.
 */
public final class MixedPartitionFilters extends SparkStrategy {
  public scala.collection.immutable.Seq<SparkPlan> apply(LogicalPlan plan) {
    List<SparkPlan> planned =
        new ArrayList<>(ScalaConversions.list(FileSourceStrategy.apply(plan)));
    for (int i = 0; i < planned.size(); i++) {
      planned.set(i, planned.get(i).transformUp(new Narrowing()));
    }
    return ScalaConversions.seq(planned);
  }

  private static final class Narrowing extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof FilterExec && FilteredScan.isOurs(((FilterExec) node).child());
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      FilterExec filter = (FilterExec) node;
      FileSourceScanExec scan = (FileSourceScanExec) filter.child();
      List<Expression> mixed = new ArrayList<>();
      collect(filter.condition(), scan.relation().partitionSchema(), mixed);
      FilterExec inLongs = UnscaledDecimalComparisons.in(filter);
      if (mixed.isEmpty()) return inLongs;
      List child = new ArrayList<>();
      child.add(FilteredScan.of(scan, new ArrayList<>(), mixed));
      return inLongs.withNewChildren(ScalaConversions.seq(child));
    }

    private static void collect(
        Expression condition, StructType constants, List<Expression> mixed) {
      if (condition instanceof And) {
        collect(((And) condition).left(), constants, mixed);
        collect(((And) condition).right(), constants, mixed);
      } else if (isMixed(condition, constants)) {
        mixed.add(new KnownNotNull(condition));
      }
    }

    private static boolean isMixed(Expression condition, StructType constants) {
      if (!condition.deterministic() || SubqueryExpression.hasSubquery(condition)) return false;
      int count = 0;
      int found = 0;
      for (scala.collection.Iterator<Attribute> all = condition.references().iterator();
          all.hasNext();
          count++) {
        if (constants.getFieldIndex(all.next().name()).isDefined()) found++;
      }
      return found > 0 && found < count;
    }
  }
}
