package deltagateway.write;

import deltagateway.analysis.Volatility;
import deltagateway.internals.ScalaConversions;
import deltagateway.session.StatementExecution;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructType;

/**
 * Optimized plan of {@link LiteralValues} with what their table enforces, for further values of the
 * same types: a statement with other values is neither parsed, analyzed nor optimized.
 *
 * <p>The plan is that of an earlier statement, over a relation without rows. Spark evaluates it
 * like any projection of literals.
 */
public final class LiteralPlan {
  private final LogicalPlan analyzed;
  private final LogicalPlan optimized;
  private final LocalRelation source;
  private final LogicalRelation placeholder;

  private LiteralPlan(
      LogicalPlan analyzed,
      LogicalPlan optimized,
      LocalRelation source,
      LogicalRelation placeholder) {
    this.analyzed = analyzed;
    this.optimized = optimized;
    this.source =
        source.copy(source.output(), ScalaConversions.emptySeq(), false, ScalaConversions.none());
    this.placeholder = placeholder;
  }

  /**
   * Returns the plan for values like `values`, whose analyzed plan this is; null if it depends on
   * more than the values, or has other values than Spark's parser has read.
   */
  static LiteralPlan of(LogicalPlan analyzed, LiteralValues values, StatementExecution statement) {
    List<LogicalPlan> leaves = ScalaConversions.list(analyzed.collectLeaves());
    if (leaves.size() != 1 || !(leaves.get(0) instanceof LocalRelation source)) return null;
    LogicalPlan counted = withIdentityValues(analyzed, column -> Literal$.MODULE$.apply(0L));
    if (!Volatility.of(counted).equals(Volatility.ALWAYS)) return null;
    List<Attribute> columns = ScalaConversions.list(source.output());
    if (columns.size() != values.width()
        || !values.rows(columns, SQLConf.get()).equals(ScalaConversions.list(source.data())))
      return null;
    LogicalRelation placeholder = new Placeholder(source).relation();
    LogicalPlan emptied = replaced(analyzed, source, placeholder);
    return new LiteralPlan(
        analyzed, statement.planned(emptied).optimizedPlan(), source, placeholder);
  }

  private static LogicalPlan replaced(LogicalPlan plan, LogicalPlan leaf, LogicalPlan other) {
    return plan.transformUp(
        ScalaConversions.<LogicalPlan>rewrite(
            node -> node.getClass() == leaf.getClass() ? other : node));
  }

  /** Returns a plan with other expressions in place of {@link IdentityColumnValues}. */
  private static LogicalPlan withIdentityValues(
      LogicalPlan plan, Function<String, Expression> values) {
    return plan.transformAllExpressions(
        ScalaConversions.<Expression>rewrite(
            each ->
                each instanceof Invoke call
                        && call.targetObject() instanceof Literal target
                        && target.value() instanceof IdentityColumnValues counter
                    ? values.apply(counter.column())
                    : each));
  }

  /** Returns the analyzed plan of the statement that this plan was made for. */
  public LogicalPlan analyzed() {
    return analyzed;
  }

  /**
   * Returns the rows that are written for `values`; null if Spark would need a job. `counters` are
   * the values of the identity columns.
   */
  LogicalPlan evaluated(LiteralValues values, Map<String, IdentityColumnValues> counters) {
    List<InternalRow> rows = values.rows(ScalaConversions.list(source.output()), SQLConf.get());
    LocalRelation filled =
        source.copy(source.output(), ScalaConversions.seq(rows), false, ScalaConversions.none());
    LogicalPlan counted =
        counters.isEmpty()
            ? optimized
            : withIdentityValues(optimized, column -> counters.get(column).value());
    LogicalPlan rest = replaced(counted, placeholder, filled);
    LogicalPlan before = null;
    while (rest != before && LiteralRowsWriter.relation(rest) == null) {
      before = rest;
      rest = ConvertToLocalRelation$.MODULE$.apply(before); // one projection at a time
    }
    return LiteralRowsWriter.relation(rest) == null ? null : rest;
  }

  /** Relation in place of the rows while a plan is optimized: Spark evaluates literal rows. */
  private static final class Placeholder extends BaseRelation {
    private final LocalRelation source;

    Placeholder(LocalRelation source) {
      this.source = source;
    }

    LogicalRelation relation() {
      List<AttributeReference> columns =
          ScalaConversions.list(source.output()).stream()
              .map(AttributeReference.class::cast)
              .toList();
      return LogicalRelation$.MODULE$.apply(
          this,
          ScalaConversions.seq(columns),
          ScalaConversions.none(),
          false,
          ScalaConversions.none());
    }

    @Override
    public SQLContext sqlContext() {
      return null;
    }

    @Override
    public StructType schema() {
      return source.schema();
    }

    @Override
    public long sizeInBytes() {
      return 1;
    }
  }
}
