package deltagateway.write;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.session.GatewaySession;
import deltagateway.write.clustering.SpaceFillingCurve;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable;
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver;
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NullOrdering;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.SortOrder$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sample$;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Puts what a table demands of its rows on top of an analyzed query, as projections:
 *
 * <p>1. `columns`: the query's columns become columns of the table, cast as {@link StoreAssignment}
 * says; `fields` says how fields of structs are found, at any depth: by position, or by name, and
 * then what becomes of those that are missing; 2. `steps`: each a list of named expressions over
 * the step before it. A text is parsed by itself, so that nothing but one expression can come of
 * it, and passes the guard as a user's text does. Their values may be assigned in turn, and columns
 * of {@link IdentityColumnValues} may be added; 3. `stored`: the columns as the files have them, by
 * position: physical names, field ids; 4. `partitions`: values that are made from these, by which
 * the rows are divided, see {@link PartitionTransform}.
 *
 * <p>Expressions that raise are in the projections' columns, never in a filter: the optimizer moves
 * filters below joins, where they would judge rows that are not written.
 */
public final class RowEnforcer {
  /** Rows in a shuffle take once to several times what they take in Parquet. */
  private static final long SHUFFLED_RATIO = 2;

  private final SparkSession spark;
  private final GatewaySession session;
  private final PlanGuard guard;
  private final String statementId;
  private final JsonNode request;
  private final boolean withoutJob;

  /** `withoutJob`: rows of literals are left to {@link LiteralRowsWriter}. */
  RowEnforcer(
      GatewaySession session,
      PlanGuard guard,
      String statementId,
      JsonNode request,
      boolean withoutJob) {
    this.session = session;
    this.spark = session.spark();
    this.guard = guard;
    this.statementId = statementId;
    this.request = request;
    this.withoutJob = withoutJob;
  }

  QueryExecution enforced(QueryExecution source) throws Exception {
    boolean isLiteral = isLiteral(source.analyzed());
    StoreAssignment ofStatement = new StoreAssignment(spark.sessionState().conf(), false);
    LogicalPlan plan =
        assigned(
            source.analyzed(),
            request.get("columns"),
            request.get("by_name").booleanValue(),
            request.get("fields").textValue(),
            ofStatement);
    boolean isArranged = request.get("is_arranged").booleanValue();
    for (Iterator<JsonNode> steps = request.get("steps").elements(); steps.hasNext(); ) {
      JsonNode step = steps.next();
      if (step.get("counters").size() > 0) {
        plan = arranged(plan, isLiteral, step.get("spread_by"), false);
        isArranged = true;
      }
      plan = step(plan, step);
    }
    plan = stored(plan, (StructType) DataType$.MODULE$.fromJson(request.get("stored").textValue()));
    plan = execution(partitioned(plan, request.get("partitions"))).analyzed();
    guard.ensureMayRun(plan, statementId); // what comes on top of it is made of no text
    if (request.hasNonNull("curve")) plan = alongCurve(plan, request.get("curve"));
    else plan = sorted(isArranged ? plan : divided(plan, isLiteral), isArranged || isLiteral);
    return execution(plan);
  }

  private QueryExecution execution(LogicalPlan plan) {
    QueryExecution execution =
        spark.sessionState().executePlan(plan, CommandExecutionMode$.MODULE$.SKIP());
    execution.assertAnalyzed();
    return execution;
  }

  /** Rows of literals fit into one task; a task per row would write a file per row. */
  public static boolean isLiteral(LogicalPlan plan) {
    List<LogicalPlan> leaves = ScalaConversions.list(plan.collectLeaves());
    for (int i = 0; i < leaves.size(); i++) {
      if (!(leaves.get(i) instanceof LocalRelation || leaves.get(i) instanceof ResolvedInlineTable))
        return false;
    }
    return true;
  }

  private LogicalPlan assigned(
      LogicalPlan source,
      JsonNode columns,
      boolean isByName,
      String fieldsBy,
      StoreAssignment casts) {
    StructType schema = (StructType) DataType$.MODULE$.fromJson(columns.textValue());
    ArrayList<Attribute> expected = new ArrayList<>();
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      expected.add(
          new AttributeReference(
              fields[i].name(),
              fields[i].dataType().asNullable(),
              true,
              fields[i].metadata(),
              NamedExpression$.MODULE$.newExprId(),
              ScalaConversions.seq(new ArrayList<>())));
    }
    LogicalPlan query = source;
    boolean byName = isByName;
    if (!byName && !fieldsBy.equals("position") && differInFields(query, expected)) {
      query = renamed(query, expected);
      byName = true;
    }
    return TableOutputResolver$.MODULE$.resolveOutputColumns(
        request.get("label").textValue(),
        ScalaConversions.seq(expected),
        casts.cast(query, expected, byName),
        byName,
        spark.sessionState().conf(),
        fieldsBy.equals("filled")
            ? filled()
            : TableOutputResolver$.MODULE$.resolveOutputColumns$default$6());
  }

  /** Missing fields become NULL, at any depth. */
  private static scala.Enumeration.Value filled() {
    return TableOutputResolver.DefaultValueFillMode$.MODULE$.RECURSE();
  }

  /**
   * Whether columns of the same number have structs of other names, or of the same in another
   * order.
   */
  private static boolean differInFields(LogicalPlan query, List<Attribute> expected) {
    List<Attribute> output = ScalaConversions.list(query.output());
    if (output.size() != expected.size()) return false;
    for (int i = 0; i < output.size(); i++) {
      if (differInFields(output.get(i).dataType(), expected.get(i).dataType())) return true;
    }
    return false;
  }

  private static boolean differInFields(DataType from, DataType to) {
    if (from instanceof StructType && to instanceof StructType) {
      StructField[] fields = ((StructType) from).fields();
      StructField[] targets = ((StructType) to).fields();
      if (fields.length != targets.length) return true;
      for (int i = 0; i < fields.length; i++) {
        if (!fields[i].name().equalsIgnoreCase(targets[i].name())) return true;
        if (differInFields(fields[i].dataType(), targets[i].dataType())) return true;
      }
      return false;
    }
    if (from instanceof ArrayType && to instanceof ArrayType) {
      return differInFields(((ArrayType) from).elementType(), ((ArrayType) to).elementType());
    }
    if (from instanceof MapType && to instanceof MapType) {
      return differInFields(((MapType) from).keyType(), ((MapType) to).keyType())
          || differInFields(((MapType) from).valueType(), ((MapType) to).valueType());
    }
    return false;
  }

  /** The columns of the query under the names of those that they go into. */
  private static LogicalPlan renamed(LogicalPlan query, List<Attribute> expected) {
    List<Attribute> output = ScalaConversions.list(query.output());
    ArrayList named = new ArrayList<>();
    for (int i = 0; i < output.size(); i++) {
      named.add(alias((Expression) output.get(i), expected.get(i).name(), ScalaConversions.none()));
    }
    return new Project(ScalaConversions.seq(named), query);
  }

  private LogicalPlan step(final LogicalPlan plan, final JsonNode step) throws Exception {
    LogicalPlan projected =
        step.get("settings").isNull() ? projected(plan, step) : captured(plan, step);
    if (!step.hasNonNull("assigned")) return projected;
    StoreAssignment ofStored = new StoreAssignment(spark.sessionState().conf(), true);
    return assigned(projected, step.get("assigned"), false, "position", ofStored);
  }

  /**
   * Constraints and generated columns mean what they meant when they were created, whatever the
   * session has set.
   */
  private LogicalPlan captured(final LogicalPlan plan, final JsonNode step) throws Exception {
    SQLConf settings = session.ofServer(StatementRequest.pairs(step.get("settings")));
    return (LogicalPlan)
        SQLConf$.MODULE$.withExistingConf(
            settings,
            new scala.runtime.AbstractFunction0() {
              public Object apply() {
                try {
                  return projected(plan, step);
                } catch (Exception failure) {
                  Platform.throwException(failure);
                  return null;
                }
              }
            });
  }

  private LogicalPlan projected(LogicalPlan plan, JsonNode step) throws Exception {
    ArrayList named = new ArrayList<>();
    for (Iterator<JsonNode> expressions = step.get("expressions").elements();
        expressions.hasNext(); ) {
      JsonNode each = expressions.next();
      Expression parsed =
          spark.sessionState().sqlParser().parseExpression(each.get("text").textValue());
      guard.ensureMayAnalyze(parsed);
      named.add(alias(parsed, each.get("name").textValue(), ScalaConversions.none()));
    }
    for (Iterator<JsonNode> counters = step.get("counters").elements(); counters.hasNext(); ) {
      JsonNode each = counters.next();
      String name = each.get("name").textValue();
      Expression value =
          new IdentityColumnValues(
                  name, each.get("first").longValue(), each.get("step").longValue())
              .value();
      named.add(alias(value, name, ScalaConversions.none()));
    }
    return execution(new Project(ScalaConversions.seq(named), plan)).analyzed();
  }

  private LogicalPlan stored(LogicalPlan plan, StructType schema) {
    List<Attribute> output = ScalaConversions.list(plan.output());
    StructField[] fields = schema.fields();
    ArrayList named = new ArrayList<>();
    for (int i = 0; i < fields.length; i++) {
      Expression value = (Expression) output.get(i);
      // No cast makes a field required that may be NULL by its type; checks have seen that it has a
      // value.
      DataType type = fields[i].dataType().asNullable();
      Expression cast =
          value.dataType().equals(fields[i].dataType())
              ? value
              : new Cast(value, type, zone(), EvalMode$.MODULE$.ANSI());
      named.add(alias(cast, fields[i].name(), scala.Option.apply(fields[i].metadata())));
    }
    return new Project(ScalaConversions.seq(named), plan);
  }

  /** With the partition values that are made from columns, which the files hold too. */
  private LogicalPlan partitioned(LogicalPlan plan, JsonNode partitions) throws Exception {
    if (partitions.isEmpty()) return plan;
    List<Attribute> columns = ScalaConversions.list(plan.output());
    ArrayList sources = new ArrayList<>(columns);
    for (int i = 0; i < partitions.size(); i++) {
      JsonNode each = partitions.get(i);
      Expression parsed =
          spark.sessionState().sqlParser().parseExpression(each.get("text").textValue());
      guard.ensureMayAnalyze(parsed);
      sources.add(alias(parsed, each.get("name").textValue(), ScalaConversions.none()));
    }
    Project resolved =
        (Project) execution(new Project(ScalaConversions.seq(sources), plan)).analyzed();
    List found = ScalaConversions.list(resolved.projectList());
    ArrayList named = new ArrayList<>(found.subList(0, columns.size()));
    for (int i = 0; i < partitions.size(); i++) {
      JsonNode each = partitions.get(i);
      Expression source = ((Alias) found.get(columns.size() + i)).child();
      PartitionTransform transform =
          PartitionTransform.into(
              each.get("transform").textValue(), each.get("width").intValue(), source.dataType());
      named.add(alias(transform.of(source), each.get("name").textValue(), ScalaConversions.none()));
    }
    return new Project(ScalaConversions.seq(named), resolved.child());
  }

  private scala.Option<String> zone() {
    return scala.Option.apply(spark.sessionState().conf().sessionLocalTimeZone());
  }

  private LogicalPlan divided(LogicalPlan plan, boolean isLiteral) {
    return arranged(
        plan, isLiteral, request.get("partition_columns"), !request.get("partitions").isEmpty());
  }

  /**
   * A partitioned table gets few files for each partition, at the price of a shuffle; others for
   * few rows, or asked. `isMade`: the plan is what {@link #partitioned} has made.
   */
  private LogicalPlan arranged(
      LogicalPlan plan, boolean isLiteral, JsonNode names, boolean isMade) {
    if (isLiteral) return withoutJob ? plan : new Repartition(1, false, plan);
    if (request.get("joins_tasks").booleanValue()) {
      return isSmall(plan)
          ? new Repartition(spark.sparkContext().defaultParallelism(), false, plan)
          : plan;
    }
    if (isDistributed("none") && !request.get("rebalanced").booleanValue()) return plan;
    if (names.size() > 0 || request.get("rebalanced").booleanValue() || isSmall(plan)) {
      return isMade ? rebalancedBelow((Project) plan) : rebalanced(plan, named(plan, names));
    }
    return plan;
  }

  /** Partition values are made behind the shuffle, which so has no more columns than the files. */
  private LogicalPlan rebalancedBelow(Project made) {
    List keys = new ArrayList<>();
    List columns = ScalaConversions.list(made.projectList());
    for (int i = columns.size() - request.get("partitions").size(); i < columns.size(); i++) {
      keys.add(PartitionTransform.keyOf(((Alias) columns.get(i)).child()));
    }
    return new Project(made.projectList(), rebalanced(made.child(), keys));
  }

  /**
   * In the order of the table in each task, partition by partition; without partitions, in all
   * tasks together.
   */
  private LogicalPlan sorted(LogicalPlan plan, boolean isDivided) throws Exception {
    JsonNode columns = request.get("order");
    if (columns.isEmpty()) return plan;
    List<Expression> keys = named(plan, request.get("partition_columns"));
    ArrayList<SortOrder> orders = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      orders.add(
          SortOrder$.MODULE$.apply(
              keys.get(i), Ascending$.MODULE$, ScalaConversions.seq(new ArrayList<>())));
    }
    for (int i = 0; i < columns.size(); i++) {
      JsonNode each = columns.get(i);
      orders.add(
          new SortOrder(
              sortKey(plan, each),
              each.get("descending").booleanValue()
                  ? (SortDirection) Descending$.MODULE$
                  : (SortDirection) Ascending$.MODULE$,
              each.get("nulls_first").booleanValue()
                  ? (NullOrdering) NullsFirst$.MODULE$
                  : (NullOrdering) NullsLast$.MODULE$,
              ScalaConversions.seq(new ArrayList<>())));
    }
    boolean isOfAll =
        isDistributed("range")
            || keys.isEmpty() && !isDistributed("none") && !isDistributed("hash");
    return new Sort(
        ScalaConversions.seq(orders), isOfAll && !isDivided, plan, ScalaConversions.none());
  }

  private boolean isDistributed(String mode) {
    return request.hasNonNull("distribution")
        && request.get("distribution").textValue().equals(mode);
  }

  /** A column, or what is made of it, in the order of its values: some transforms answer texts. */
  private Expression sortKey(LogicalPlan plan, JsonNode column) throws Exception {
    Expression parsed =
        spark.sessionState().sqlParser().parseExpression(column.get("text").textValue());
    guard.ensureMayAnalyze(parsed);
    if (!column.hasNonNull("transform")) return parsed;
    ArrayList named = new ArrayList<>();
    named.add(alias(parsed, "key", ScalaConversions.none()));
    Project resolved =
        (Project) execution(new Project(ScalaConversions.seq(named), plan)).analyzed();
    Expression source = ((Alias) resolved.projectList().head()).child();
    String kind = column.get("transform").textValue();
    Expression value = new PartitionTransform(kind, column.get("width").intValue()).of(source);
    DataType type = kind.equals("truncate") ? source.dataType() : LongType$.MODULE$;
    if (type instanceof StringType || type instanceof BinaryType)
      return value; // digits of its bytes
    return new Cast(value, type, zone(), EvalMode$.MODULE$.LEGACY());
  }

  /**
   * Whether the rows are so few that a shuffle costs less than a file for each task that reads.
   * Queries that end with a shuffle have few tasks already, or as many as their author wants.
   */
  private boolean isSmall(LogicalPlan plan) {
    LogicalPlan source = plan;
    while (source instanceof Project
        || source instanceof Filter
        || source instanceof SubqueryAlias) {
      source = ((UnaryNode) source).child();
    }
    if (!(source instanceof LeafNode || source instanceof Union || source instanceof Join))
      return false;
    BigInteger small = BigInteger.valueOf(request.get("small_bytes").longValue());
    return bytes(plan).compareTo(small) <= 0;
  }

  /**
   * An inline table has no statistics before the optimizer has given its values: VALUES
   * (current_timestamp()).
   */
  private static BigInteger bytes(LogicalPlan plan) {
    BigInteger sum = BigInteger.ZERO;
    boolean isInline = false;
    List<LogicalPlan> leaves = ScalaConversions.list(plan.collectLeaves());
    for (int i = 0; i < leaves.size(); i++) {
      LogicalPlan leaf = leaves.get(i);
      isInline |= leaf instanceof ResolvedInlineTable;
      if (!(leaf instanceof ResolvedInlineTable))
        sum = sum.add(leaf.stats().sizeInBytes().bigInteger());
    }
    return isInline ? sum : plan.stats().sizeInBytes().bigInteger();
  }

  private LogicalPlan rebalanced(LogicalPlan plan, List keys) {
    // OutputFileSizes divides a shuffle that is written as it comes; rows in order stay as they are
    // divided here.
    long ratio = request.hasNonNull("curve") ? SHUFFLED_RATIO : 1;
    Long bytes = Long.valueOf(ratio * request.get("file_bytes").longValue());
    return new RebalancePartitions(
        ScalaConversions.seq(keys), plan, ScalaConversions.none(), scala.Option.apply(bytes));
  }

  private static List named(LogicalPlan plan, JsonNode names) {
    Set<String> wanted = new HashSet<>();
    for (int i = 0; i < names.size(); i++) wanted.add(names.get(i).textValue());
    List<Attribute> output = ScalaConversions.list(plan.output());
    ArrayList<Attribute> found = new ArrayList<>();
    for (int i = 0; i < output.size(); i++) {
      if (wanted.contains(output.get(i).name())) found.add(output.get(i));
    }
    return found;
  }

  /**
   * Sorts each partition of the table along a curve. Rows that become several files are spread over
   * as many tasks by their places on the curve, which a sample of the columns has told; so whole
   * rows are read once.
   */
  private LogicalPlan alongCurve(LogicalPlan plan, JsonNode curve) throws Exception {
    boolean spreads = curve.hasNonNull("num_files");
    int numFiles = spreads ? curve.get("num_files").intValue() : 1;
    LogicalPlan axes = axes(plan, curve.get("columns"));
    SpaceFillingCurve place =
        new SpaceFillingCurve(
            axes.schema(),
            sample(axes, curve.get("sampled").doubleValue()),
            curve.get("is_hilbert").booleanValue(),
            numFiles);
    ArrayList columns = new ArrayList<>(ScalaConversions.list(plan.output()));
    List values = new ArrayList<>();
    List<NamedExpression> aliases = ScalaConversions.list(((Project) axes).projectList());
    for (int i = 0; i < aliases.size(); i++) values.add(((Alias) aliases.get(i)).child());
    columns.add(alias(place.of(values), "place", ScalaConversions.none()));
    LogicalPlan placed = new Project(ScalaConversions.seq(columns), plan);
    Attribute key = placed.output().last();
    List partition = named(placed, request.get("partition_columns"));
    LogicalPlan spread = rebalanced(placed, partition);
    if (spreads) {
      Expression file = new DirectShufflePartitionID(place.fileOf(key));
      spread =
          new RepartitionByExpression(
              ScalaConversions.seq(Collections.singletonList(file)),
              placed,
              scala.Option.apply(Integer.valueOf(numFiles)),
              ScalaConversions.none());
    }
    ArrayList order = new ArrayList<>();
    for (int i = 0; i < partition.size(); i++) order.add(ascending((Expression) partition.get(i)));
    order.add(ascending(key));
    return new Project(
        (scala.collection.immutable.Seq) plan.output(),
        new Sort(ScalaConversions.seq(order), false, spread, ScalaConversions.none()));
  }

  /** The values of the columns that the curve goes through. */
  private LogicalPlan axes(LogicalPlan plan, JsonNode columns) throws Exception {
    ArrayList axes = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      Expression axis =
          spark.sessionState().sqlParser().parseExpression(columns.get(i).textValue());
      guard.ensureMayAnalyze(axis);
      axes.add(alias(axis, "axis" + i, ScalaConversions.none()));
    }
    return execution(new Project(ScalaConversions.seq(axes), plan)).analyzed();
  }

  private InternalRow[] sample(LogicalPlan rows, double fraction) throws Exception {
    LogicalPlan some =
        fraction < 1
            ? new Sample(
                0,
                fraction,
                false,
                scala.Option.apply(Long.valueOf(0)),
                rows,
                Sample$.MODULE$.apply$default$6())
            : rows;
    QueryExecution execution = execution(some);
    guard.ensureMayRun(execution.analyzed(), statementId);
    return execution.executedPlan().executeCollect();
  }

  private static SortOrder ascending(Expression value) {
    return SortOrder$.MODULE$.apply(
        value, Ascending$.MODULE$, SortOrder$.MODULE$.apply$default$3());
  }

  private static Alias alias(Expression value, String name, scala.Option metadata) {
    return new Alias(
        value,
        name,
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.seq(new ArrayList<>()),
        metadata,
        ScalaConversions.seq(new ArrayList<>()));
  }
}
