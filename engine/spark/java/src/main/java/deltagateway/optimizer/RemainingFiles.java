package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.seq;

import deltagateway.scan.PrunedFileIndex;
import java.util.ArrayList;
import java.util.Collections;
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
import scala.collection.immutable.Seq;

/**
 * The scans of an optimized query, with the files that remain after pruning by the filters above
 * them.
 *
 * <p>Without a join these filters are all that Spark prunes files by, so the list of files that is
 * requested here is reused. A join may prune more files while the query runs, so its files are only
 * counted here, and are not reported as read.
 */
public final class RemainingFiles {
  /** Maximum number of rows that an expansion makes of one row without multiplying them. */
  private static final int EXPANDED_MAX = 8;

  /** Requesting the values of a smaller table takes longer than it may save. */
  private static final long BYTES_MIN = 1L << 20;

  /** Maximum number of estimated rows of a lookup. */
  private static final long LOOKUP_ROWS_MAX = 1000;

  /** Minimum number of relations whose joins have several orders. */
  private static final int ORDERED_MIN = 3;

  /**
   * A relation, the plan with the projections and filters above it, the filters that can prune
   * files, and the columns that are read. `isEstimable`: the selectivity of all filters is.
   */
  private record Scan(
      LogicalPlan plan,
      LogicalRelation relation,
      List<Expression> filters,
      Set<String> columns,
      boolean isEstimable) {
    PrunedFileIndex index() {
      return RemainingFiles.index(relation);
    }
  }

  /** The number of a scan's files, the bytes of the columns that it reads, and of the files. */
  public record ScanSize(LogicalRelation relation, long files, long bytes, long fileBytes) {}

  private final List<Scan> scans = new ArrayList<>();

  /** Ids of the columns by which rows are joined and grouped. */
  private final Set<ExprId> joinKeys = new HashSet<>();

  private final Set<ExprId> groupKeys = new HashSet<>();
  private boolean joins;
  private boolean multiplies;

  public RemainingFiles(LogicalPlan optimized) {
    add(optimized);
  }

  private void add(LogicalPlan plan) {
    addKeysOf(plan);
    multiplies |=
        plan instanceof Generate
            || plan instanceof UnionLoop
            || plan instanceof Expand expand && expand.projections().size() > EXPANDED_MAX;
    list(plan.subqueries()).forEach(this::add);
    FilteredRelation scan = FilteredRelation.of(plan);
    if (scan != null) {
      addScan(plan, scan);
      addSubqueriesBelow(plan);
      return;
    }
    list(plan.children()).forEach(this::add);
    // Other leaves, such as `range`, may have any number of rows.
    if (plan.children().isEmpty()) {
      multiplies |= !(plan instanceof LocalRelation) && !(plan instanceof CTERelationRef);
    }
  }

  private void addKeysOf(LogicalPlan plan) {
    if (plan instanceof Aggregate aggregate) {
      list(aggregate.groupingExpressions()).forEach(each -> addReferences(each, groupKeys));
    }
    if (plan instanceof Join join) {
      joins = true;
      list(plan.expressions()).forEach(each -> addReferences(each, joinKeys));
      multiplies |= EquiJoinKeys.of(join) == null;
    }
  }

  private static void addReferences(Expression expression, Set<ExprId> ids) {
    list(expression.references().toSeq()).forEach(column -> ids.add(column.exprId()));
  }

  /** Adds the subqueries of the projections and filters between a plan and its relation. */
  private void addSubqueriesBelow(LogicalPlan plan) {
    for (LogicalPlan child : list(plan.children())) {
      list(child.subqueries()).forEach(this::add);
      addSubqueriesBelow(child);
    }
  }

  private void addScan(LogicalPlan plan, FilteredRelation scan) {
    List<Expression> read = new ArrayList<>(scan.upperFilters());
    read.addAll(scan.filters());
    scan.projections().forEach(each -> read.add((Expression) each));
    Set<String> columns = new HashSet<>();
    for (Expression each : read) {
      list(each.references().toSeq()).forEach(column -> columns.add(column.name()));
    }
    List<Expression> known = scan.filters().stream().filter(RemainingFiles::canPrune).toList();
    boolean isEstimable = EstimatedFilters.areAll(scan.filters());
    scans.add(new Scan(plan, scan.relation(), known, columns, isEstimable));
  }

  /** Returns whether a filter can be evaluated before the query runs. */
  private static boolean canPrune(Expression filter) {
    return filter.deterministic()
        && !SubqueryExpression.hasSubquery(filter)
        && !(filter instanceof BloomFilterMightContain);
  }

  static boolean isOurs(LogicalPlan plan) {
    return plan instanceof LogicalRelation leaf && index(leaf) != null;
  }

  /** Returns null for a relation that is no scan of the gateway. */
  static PrunedFileIndex index(LogicalRelation leaf) {
    return leaf.relation() instanceof HadoopFsRelation relation
            && relation.location() instanceof PrunedFileIndex index
        ? index
        : null;
  }

  public boolean joins() {
    return joins;
  }

  /** Returns whether the query may compute many more rows than it reads. */
  public boolean mayMultiply() {
    return multiplies;
  }

  public boolean isEmpty() {
    return scans.isEmpty();
  }

  public List<LogicalRelation> relations() {
    return scans.stream().map(Scan::relation).toList();
  }

  /**
   * Returns the replacement of each relation without an estimate. If the selectivity of a filter
   * cannot be estimated, the replacement has the size of all rows and no column statistics, so
   * Spark keeps the order of its joins.
   */
  Map<LogicalRelation, EstimatedRelation> estimated() {
    Map<LogicalRelation, EstimatedRelation> estimated = new IdentityHashMap<>();
    for (Scan scan : scans) {
      LogicalRelation leaf = scan.relation();
      if (scan.index().estimate() != null) continue;
      Set<String> columns = scan.isEstimable() ? scan.columns() : Set.of();
      Set<Object> joined = keyNames(leaf, joinKeys);
      PrunedFileIndex files =
          scan.index().estimated(seq(scan.filters()), columns, joined, keyNames(leaf, groupKeys));
      if (scans.size() >= ORDERED_MIN && OptimizerRule.DICTIONARY_SIZES.isEnabled()) {
        Set<String> valued = new HashSet<>();
        EstimatedFilters.addValued(scan.filters(), valued);
        Map<String, Long> counts = DictionarySizes.counts(leaf, files, valued, joined);
        if (!counts.isEmpty()) OptimizerRule.DICTIONARY_SIZES.count();
        files = files.counted(counts);
      }
      estimated.put(leaf, new EstimatedRelation(leaf, files));
    }
    return estimated;
  }

  private static Set<Object> keyNames(LogicalRelation leaf, Set<ExprId> keys) {
    Set<Object> names = new HashSet<>();
    for (Attribute column : list(leaf.output())) {
      if (keys.contains(column.exprId())) names.add(column.name());
    }
    return names;
  }

  /** Returns the statistics of a relation's rows and numbers; null if they are not requested. */
  ScanEstimate values(LogicalRelation leaf) {
    for (Scan scan : scans) {
      if (scan.relation() != leaf) continue;
      if (scan.index().scan().hidden || scan.index().scan().bytes < BYTES_MIN) return null;
      Set<String> numbers = new HashSet<>();
      for (Attribute column : list(leaf.output())) {
        boolean isNumber =
            column.dataType() instanceof DecimalType || column.dataType() instanceof IntegralType;
        if (isNumber && scan.columns().contains(column.name())) numbers.add(column.name());
      }
      return scan.index().listing().estimate(seq(scan.filters()), numbers);
    }
    return null;
  }

  /**
   * Returns the relations that are looked into by values of a column, and return few rows by the
   * estimate. It applies to statements that plan by cost.
   */
  public Set<LogicalRelation> lookups() {
    Set<LogicalRelation> found = Collections.newSetFromMap(new IdentityHashMap<>());
    for (Scan scan : scans) {
      if (scan.index().estimate() == null) continue;
      var rows = scan.plan().stats().rowCount();
      boolean areFew = rows.isDefined() && rows.get().toDouble() <= LOOKUP_ROWS_MAX;
      if (areFew && EstimatedFilters.hasValues(scan.filters())) found.add(scan.relation());
    }
    return found;
  }

  public List<ScanSize> sizes() {
    List<ScanSize> sizes = new ArrayList<>();
    for (Scan scan : scans) {
      Seq<Expression> filters = seq(scan.filters());
      boolean countsOnly = joins || scan.index().scan().hidden;
      long[] files = countsOnly ? scan.index().count(filters) : scan.index().countListed(filters);
      long bytes = (long) (files[1] * columnShare(scan));
      sizes.add(new ScanSize(scan.relation(), files[0], bytes, files[1]));
    }
    return sizes;
  }

  /** Returns the share of a file that the columns are, by the sizes of their types. */
  private static double columnShare(Scan scan) {
    double all = 0;
    double read = 0;
    for (StructField field :
        ((HadoopFsRelation) scan.relation().relation()).dataSchema().fields()) {
      all += field.dataType().defaultSize();
      if (scan.columns().contains(field.name())) read += field.dataType().defaultSize();
    }
    return all == 0 ? 1 : read / all;
  }
}
