package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import deltagateway.scan.PrunedFileIndex;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.planning.ScanOperation$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnionLoop;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * What an optimized query will read: its scans, with the files that the filters above them leave.
 *
 * <p>Without a join these filters are all that Spark asks for files by, and what is asked here is
 * not asked again. A join may leave more files out while it runs, so the files that are counted for
 * it here are not yet said to be read.
 */
public final class RemainingFiles {
  /** That are made of one. */
  private static final int FEW_ROWS = 8;

  /** Of a table: to ask what is in fewer takes longer than it may save. */
  private static final long ASKED_BYTES_MIN = 1L << 20;

  /** More are no look-up. */
  private static final long LOOKED_UP_MAX = 1000;

  /** Relations, of which two have but one order. */
  private static final int ORDERED_MIN = 3;

  private final List<Object> relations = new ArrayList<>();

  /** Of each relation, with the projections and filters above it. */
  private final List<LogicalPlan> plans = new ArrayList<>();

  private final List filters = new ArrayList<>();
  private final List<Set<String>> columns = new ArrayList<>();
  private final List<Boolean> isSure = new ArrayList<>();

  /** Ids of the columns by which rows are joined, and of those by which they are grouped. */
  private final Set<ExprId> joinKeys = new HashSet<>();

  private final Set<ExprId> groupKeys = new HashSet<>();
  private boolean joins;
  private boolean multiplies;

  public RemainingFiles(LogicalPlan optimized) {
    add(optimized);
  }

  private void add(LogicalPlan plan) {
    if (plan instanceof Aggregate)
      addKeys(ScalaConversions.list(((Aggregate) plan).groupingExpressions()), groupKeys);
    if (plan instanceof Join) {
      joins = true;
      addKeys(ScalaConversions.list(plan.expressions()), joinKeys);
      multiplies |= ExtractEquiJoinKeys$.MODULE$.unapply((Join) plan).isEmpty();
    }
    if (plan instanceof Expand) multiplies |= ((Expand) plan).projections().size() > FEW_ROWS;
    multiplies |= plan instanceof Generate || plan instanceof UnionLoop;
    List<LogicalPlan> subqueries = ScalaConversions.list(plan.subqueries());
    for (int i = 0; i < subqueries.size(); i++) add(subqueries.get(i));
    scala.Option found = ScanOperation$.MODULE$.unapply(plan);
    if (found.isDefined() && isOurs(((scala.Tuple4) found.get())._4())) {
      plans.add(plan);
      addScan((scala.Tuple4) found.get());
      addSubqueries(plan);
      return;
    }
    List<LogicalPlan> children = ScalaConversions.list(plan.children());
    for (int i = 0; i < children.size(); i++) add(children.get(i));
    // Others, as `range`, may have any number of rows.
    if (children.isEmpty())
      multiplies |= !(plan instanceof LocalRelation) && !(plan instanceof CTERelationRef);
  }

  /** Of the projections and filters between a plan and its relation. */
  private void addSubqueries(LogicalPlan plan) {
    List<LogicalPlan> children = ScalaConversions.list(plan.children());
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan child = children.get(i);
      List<LogicalPlan> subqueries = ScalaConversions.list(child.subqueries());
      for (int j = 0; j < subqueries.size(); j++) add(subqueries.get(j));
      addSubqueries(child);
    }
  }

  private void addScan(scala.Tuple4 operation) {
    List<Object> kept = new ArrayList<>();
    Set read = new HashSet<>();
    addReferences(read, ScalaConversions.list((scala.collection.Seq) operation._1()));
    addReferences(read, ScalaConversions.list((scala.collection.Seq) operation._2()));
    List all = ScalaConversions.list((scala.collection.Seq) operation._3());
    addReferences(read, all);
    for (int i = 0; i < all.size(); i++) if (isKnown((Expression) all.get(i))) kept.add(all.get(i));
    relations.add(operation._4());
    filters.add(ScalaConversions.seq(kept));
    columns.add(read);
    isSure.add(Boolean.valueOf(EstimatedFilters.areAll(all)));
  }

  private static void addReferences(Set<String> names, List<Expression> expressions) {
    for (int i = 0; i < expressions.size(); i++) {
      scala.collection.Iterator<Attribute> all = expressions.get(i).references().iterator();
      while (all.hasNext()) names.add(all.next().name());
    }
  }

  private static void addKeys(List<Expression> expressions, Set<ExprId> keys) {
    for (int i = 0; i < expressions.size(); i++) {
      scala.collection.Iterator<Attribute> all = expressions.get(i).references().iterator();
      while (all.hasNext()) keys.add(all.next().exprId());
    }
  }

  private static Set<Object> keysOf(LogicalRelation leaf, Set<ExprId> keys) {
    Set<Object> names = new HashSet<>();
    for (int i = 0; i < leaf.output().size(); i++) {
      Attribute column = leaf.output().apply(i);
      if (keys.contains(column.exprId())) names.add(column.name());
    }
    return names;
  }

  /** Whether a filter says before anything runs what it leaves. */
  private static boolean isKnown(Expression filter) {
    return filter.deterministic()
        && !SubqueryExpression.hasSubquery(filter)
        && !(filter instanceof BloomFilterMightContain);
  }

  static boolean isOurs(Object plan) {
    return plan instanceof LogicalRelation && index((LogicalRelation) plan) != null;
  }

  static PrunedFileIndex index(LogicalRelation leaf) {
    if (!(leaf.relation() instanceof HadoopFsRelation)) return null;
    Object index = ((HadoopFsRelation) leaf.relation()).location();
    return index instanceof PrunedFileIndex ? (PrunedFileIndex) index : null;
  }

  public boolean joins() {
    return joins;
  }

  /** Whether it may make many more rows than it reads. */
  public boolean mayMultiply() {
    return multiplies;
  }

  public boolean isEmpty() {
    return relations.isEmpty();
  }

  /** The leaves of the plan that are read. */
  public List<Object> relations() {
    return relations;
  }

  /**
   * Each relation of ours that is not estimated yet -> what takes its place. Where nobody knows how
   * many rows a filter leaves, nothing is asked of columns, it tells the size of all rows alone,
   * and Spark leaves its joins in the order of the text.
   */
  Map<LogicalRelation, EstimatedRelation> estimated() {
    Map<LogicalRelation, EstimatedRelation> estimated = new IdentityHashMap<>();
    for (int i = 0; i < relations.size(); i++) {
      LogicalRelation leaf = (LogicalRelation) relations.get(i);
      if (index(leaf).estimate() != null) continue;
      scala.collection.immutable.Seq<Expression> known =
          (scala.collection.immutable.Seq<Expression>) filters.get(i);
      Set<String> asked = isSure.get(i).booleanValue() ? columns.get(i) : new HashSet<>();
      Set<Object> joined = keysOf(leaf, joinKeys);
      PrunedFileIndex files = index(leaf).estimated(known, asked, joined, keysOf(leaf, groupKeys));
      if (relations.size() >= ORDERED_MIN) {
        files = files.counted(DictionarySizes.counts(leaf, files, valued(known), joined));
      }
      estimated.put(leaf, new EstimatedRelation(leaf, files));
    }
    return estimated;
  }

  private static Set<String> valued(scala.collection.immutable.Seq<Expression> filters) {
    Set<String> names = new HashSet<>();
    EstimatedFilters.addValued(ScalaConversions.list(filters), names);
    return names;
  }

  /**
   * What is known of the rows of a relation and of the numbers that are read of it; null: it was
   * not asked.
   */
  ScanEstimate values(LogicalRelation leaf) {
    for (int i = 0; i < relations.size(); i++) {
      if (relations.get(i) != leaf) continue;
      if (index(leaf).scan().hidden || index(leaf).scan().bytes < ASKED_BYTES_MIN) return null;
      Set<String> numbers = new HashSet<>();
      for (int j = 0; j < leaf.output().size(); j++) {
        Attribute column = leaf.output().apply(j);
        boolean isNumber =
            column.dataType() instanceof DecimalType || column.dataType() instanceof IntegralType;
        if (isNumber && columns.get(i).contains(column.name())) numbers.add(column.name());
      }
      return index(leaf)
          .listing()
          .estimate((scala.collection.immutable.Seq<Expression>) filters.get(i), numbers);
    }
    return null;
  }

  /**
   * Which relations are looked into by values of a column: of all that is read of one, the cost
   * model expects that few rows go on. To be asked where the statement plans by cost.
   */
  public boolean[] lookUps() {
    boolean[] found = new boolean[relations.size()];
    for (int i = 0; i < found.length; i++) {
      if (index((LogicalRelation) relations.get(i)).estimate() == null) continue;
      scala.Option<scala.math.BigInt> rows = plans.get(i).stats().rowCount();
      boolean areFew = rows.isDefined() && rows.get().toDouble() <= LOOKED_UP_MAX;
      found[i] =
          areFew
              && EstimatedFilters.hasValues(
                  ScalaConversions.list((scala.collection.Seq) filters.get(i)));
    }
    return found;
  }

  /**
   * Of each relation: the number of its files, the bytes of the columns that are read of them, and
   * those of the files.
   */
  public long[][] sizes() {
    long[][] sizes = new long[relations.size()][];
    for (int i = 0; i < sizes.length; i++) {
      LogicalRelation leaf = (LogicalRelation) relations.get(i);
      scala.collection.immutable.Seq<Expression> known =
          (scala.collection.immutable.Seq<Expression>) filters.get(i);
      boolean asksMore = joins || index(leaf).scan().hidden;
      long[] files = asksMore ? index(leaf).count(known) : index(leaf).countListed(known);
      sizes[i] = new long[] {files[0], (long) (files[1] * share(leaf, columns.get(i))), files[1]};
    }
    return sizes;
  }

  /** How much of a file the columns are, by the sizes of their types. */
  private static double share(LogicalRelation leaf, Set<String> read) {
    StructType schema = ((HadoopFsRelation) leaf.relation()).dataSchema();
    double all = 0;
    double some = 0;
    for (int i = 0; i < schema.length(); i++) {
      StructField field = schema.fields()[i];
      all += field.dataType().defaultSize();
      if (read.contains(field.name())) some += field.dataType().defaultSize();
    }
    return all == 0 ? 1 : some / all;
  }
}
