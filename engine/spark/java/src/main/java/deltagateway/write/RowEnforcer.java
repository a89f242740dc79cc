package deltagateway.write;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.write.clustering.SpaceFillingCurve;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
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
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
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
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Enumeration;
import scala.Option;

/**
 * Adds what a table enforces on top of an analyzed query, as projections:
 *
 * <p>1. `columns`: the query's columns become columns of the table, with the casts of {@link
 * StoreAssignment}. `fields` determines how fields of structs are matched, at any depth: by
 * position or by name, and then whether missing fields become NULL. 2. `steps`: lists of named
 * expressions, each over the step before it. Each text is parsed on its own, so that it is exactly
 * one expression, and passes the guard like a user's text. The values may be assigned in turn, and
 * columns of {@link IdentityColumnValues} may be added. 3. `stored`: the columns as they are in the
 * files, by position: physical names, field ids. 4. `partitions`: partition values computed from
 * these ({@link PartitionTransform}).
 *
 * <p>Expressions that raise are columns of the projections and no filters. The optimizer pushes
 * filters below joins, where they would check rows that are not written.
 */
public final class RowEnforcer {
  /** Rows in a shuffle take once to several times their size in Parquet. */
  private static final long SHUFFLED_RATIO = 2;

  private final SparkSession spark;
  private final Function<Map<String, String>, SQLConf> creationSettings;
  private final PlanGuard guard;
  private final String statementId;
  private final JsonNode request;
  private final boolean withoutJob;

  /**
   * `creationSettings` returns Spark's settings with those that an object was created with. With
   * `withoutJob`, {@link LiteralRowsWriter} writes rows of literals.
   */
  RowEnforcer(
      SparkSession spark,
      Function<Map<String, String>, SQLConf> creationSettings,
      PlanGuard guard,
      String statementId,
      JsonNode request,
      boolean withoutJob) {
    this.spark = spark;
    this.creationSettings = creationSettings;
    this.guard = guard;
    this.statementId = statementId;
    this.request = request;
    this.withoutJob = withoutJob;
  }

  QueryExecution enforced(QueryExecution source) throws Exception {
    boolean isLiteral = isLiteral(source.analyzed());
    LogicalPlan plan =
        assigned(
            source.analyzed(),
            request.get("columns"),
            request.get("by_name").booleanValue(),
            request.get("fields").textValue(),
            new StoreAssignment(spark.sessionState().conf(), false));
    boolean isArranged = request.get("is_arranged").booleanValue();
    for (JsonNode step : request.get("steps")) {
      if (!step.get("counters").isEmpty()) {
        plan = distributed(plan, isLiteral, step.get("spread_by"), false);
        isArranged = true;
      }
      plan = step(plan, step);
    }
    plan = stored(plan, schema(request.get("stored")));
    plan = execution(partitioned(plan, request.get("partitions"))).analyzed();
    guard.ensureMayRun(plan, statementId); // no text becomes part of the plan above
    if (request.hasNonNull("curve")) plan = alongCurve(plan, request.get("curve"));
    else plan = sorted(isArranged ? plan : distributed(plan, isLiteral), isArranged || isLiteral);
    return execution(plan);
  }

  private QueryExecution execution(LogicalPlan plan) {
    QueryExecution execution =
        spark.sessionState().executePlan(plan, CommandExecutionMode$.MODULE$.SKIP());
    execution.assertAnalyzed();
    return execution;
  }

  private static StructType schema(JsonNode json) {
    return (StructType) DataType$.MODULE$.fromJson(json.textValue());
  }

  /**
   * Returns whether all rows are literals. They fit into one task; a task for each row would write
   * a file for each row.
   */
  public static boolean isLiteral(LogicalPlan plan) {
    return ScalaConversions.list(plan.collectLeaves()).stream()
        .allMatch(leaf -> leaf instanceof LocalRelation || leaf instanceof ResolvedInlineTable);
  }

  private LogicalPlan assigned(
      LogicalPlan source,
      JsonNode columns,
      boolean isByName,
      String fieldsBy,
      StoreAssignment assignment) {
    List<Attribute> expected = new ArrayList<>();
    for (StructField field : schema(columns).fields()) {
      expected.add(
          new AttributeReference(
              field.name(),
              field.dataType().asNullable(),
              true,
              field.metadata(),
              NamedExpression$.MODULE$.newExprId(),
              ScalaConversions.emptySeq()));
    }
    LogicalPlan query = source;
    boolean byName = isByName;
    if (!byName && !fieldsBy.equals("position") && differInFields(query, expected)) {
      query = renamed(query, expected);
      byName = true;
    }
    Enumeration.Value missing =
        fieldsBy.equals("filled")
            ? TableOutputResolver.DefaultValueFillMode$.MODULE$.RECURSE() // NULL, at any depth
            : TableOutputResolver$.MODULE$.resolveOutputColumns$default$6();
    return TableOutputResolver$.MODULE$.resolveOutputColumns(
        request.get("label").textValue(),
        ScalaConversions.seq(expected),
        assignment.cast(query, expected, byName),
        byName,
        spark.sessionState().conf(),
        missing);
  }

  /** Returns whether structs in columns of equal number have other names or another order. */
  private static boolean differInFields(LogicalPlan query, List<Attribute> expected) {
    List<Attribute> output = ScalaConversions.list(query.output());
    return output.size() == expected.size()
        && IntStream.range(0, output.size())
            .anyMatch(i -> differInFields(output.get(i).dataType(), expected.get(i).dataType()));
  }

  private static boolean differInFields(DataType from, DataType to) {
    if (from instanceof StructType struct && to instanceof StructType target) {
      StructField[] fields = struct.fields();
      StructField[] targets = target.fields();
      return fields.length != targets.length
          || IntStream.range(0, fields.length)
              .anyMatch(
                  i ->
                      !fields[i].name().equalsIgnoreCase(targets[i].name())
                          || differInFields(fields[i].dataType(), targets[i].dataType()));
    }
    if (from instanceof ArrayType array && to instanceof ArrayType target)
      return differInFields(array.elementType(), target.elementType());
    if (from instanceof MapType map && to instanceof MapType target)
      return differInFields(map.keyType(), target.keyType())
          || differInFields(map.valueType(), target.valueType());
    return false;
  }

  /** Renames the columns of the query to those of their targets. */
  private static LogicalPlan renamed(LogicalPlan query, List<Attribute> expected) {
    List<Attribute> output = ScalaConversions.list(query.output());
    List<NamedExpression> named = new ArrayList<>();
    for (int i = 0; i < output.size(); i++) named.add(alias(output.get(i), expected.get(i).name()));
    return project(named, query);
  }

  private LogicalPlan step(LogicalPlan plan, JsonNode step) throws Exception {
    LogicalPlan projected =
        step.get("settings").isNull() ? projected(plan, step) : withCreationSettings(plan, step);
    if (!step.hasNonNull("assigned")) return projected;
    StoreAssignment ofPartitions = new StoreAssignment(spark.sessionState().conf(), true);
    return assigned(projected, step.get("assigned"), false, "position", ofPartitions);
  }

  /**
   * Projects under the settings with which a constraint or generated column was created, whatever
   * the session's settings are.
   */
  private LogicalPlan withCreationSettings(LogicalPlan plan, JsonNode step) {
    SQLConf settings = creationSettings.apply(StatementRequest.pairs(step.get("settings")));
    return SQLConf$.MODULE$.withExistingConf(
        settings, ScalaConversions.function(() -> projected(plan, step)));
  }

  private LogicalPlan projected(LogicalPlan plan, JsonNode step) throws Exception {
    List<NamedExpression> named = new ArrayList<>();
    for (JsonNode expression : step.get("expressions"))
      named.add(alias(parsed(expression.get("text")), expression.get("name").textValue()));
    for (JsonNode counter : step.get("counters")) {
      String name = counter.get("name").textValue();
      IdentityColumnValues values =
          new IdentityColumnValues(
              name, counter.get("first").longValue(), counter.get("step").longValue());
      named.add(alias(values.value(), name));
    }
    return execution(project(named, plan)).analyzed();
  }

  /** Parses the text of one expression. */
  private Expression parsed(JsonNode text) throws Exception {
    Expression parsed = spark.sessionState().sqlParser().parseExpression(text.textValue());
    guard.ensureMayAnalyze(parsed);
    return parsed;
  }

  private LogicalPlan stored(LogicalPlan plan, StructType schema) {
    StructField[] fields = schema.fields();
    List<NamedExpression> named = new ArrayList<>();
    for (int i = 0; i < fields.length; i++) {
      Attribute value = plan.output().apply(i);
      // No cast makes a nullable field required; a step has checked that it has a value.
      Expression cast =
          value.dataType().equals(fields[i].dataType())
              ? value
              : new Cast(
                  value, fields[i].dataType().asNullable(), zone(), EvalMode$.MODULE$.ANSI());
      named.add(alias(cast, fields[i].name(), Option.apply(fields[i].metadata())));
    }
    return project(named, plan);
  }

  /** Adds the partition values that are computed from columns, which are in the files too. */
  private LogicalPlan partitioned(LogicalPlan plan, JsonNode partitions) throws Exception {
    if (partitions.isEmpty()) return plan;
    List<Attribute> columns = ScalaConversions.list(plan.output());
    List<NamedExpression> sources = new ArrayList<>(columns);
    for (JsonNode partition : partitions)
      sources.add(alias(parsed(partition.get("text")), partition.get("name").textValue()));
    Project resolved = (Project) execution(project(sources, plan)).analyzed();
    List<NamedExpression> found = ScalaConversions.list(resolved.projectList());
    List<NamedExpression> named = new ArrayList<>(found.subList(0, columns.size()));
    for (JsonNode partition : partitions) {
      Expression source = ((Alias) found.get(named.size())).child();
      PartitionTransform transform =
          PartitionTransform.into(
              partition.get("transform").textValue(),
              partition.get("width").intValue(),
              source.dataType());
      named.add(alias(transform.of(source), partition.get("name").textValue()));
    }
    return project(named, resolved.child());
  }

  private Option<String> zone() {
    return Option.apply(spark.sessionState().conf().sessionLocalTimeZone());
  }

  private LogicalPlan distributed(LogicalPlan plan, boolean isLiteral) {
    return distributed(
        plan, isLiteral, request.get("partition_columns"), !request.get("partitions").isEmpty());
  }

  /**
   * Distributes rows to tasks by the columns `names`. A shuffle gives each partition of a table few
   * files; other tables are shuffled if the rows are few or the request has it. With
   * `hasTransforms`, the plan is that of {@link #partitioned}.
   */
  private LogicalPlan distributed(
      LogicalPlan plan, boolean isLiteral, JsonNode names, boolean hasTransforms) {
    if (isLiteral) return withoutJob ? plan : new Repartition(1, false, plan);
    if (request.get("joins_tasks").booleanValue()) {
      return isSmall(plan)
          ? new Repartition(spark.sparkContext().defaultParallelism(), false, plan)
          : plan;
    }
    boolean isRebalanced = request.get("rebalanced").booleanValue();
    if (hasDistribution("none") && !isRebalanced) return plan;
    if (names.isEmpty() && !isRebalanced && !isSmall(plan)) return plan;
    return hasTransforms ? rebalancedBelow((Project) plan) : rebalanced(plan, named(plan, names));
  }

  /**
   * Rebalances before the partition values are computed, so that the shuffle does not have them.
   */
  private LogicalPlan rebalancedBelow(Project partitioned) {
    List<NamedExpression> columns = ScalaConversions.list(partitioned.projectList());
    int first = columns.size() - request.get("partitions").size();
    List<Expression> keys =
        columns.subList(first, columns.size()).stream()
            .map(column -> PartitionTransform.keyOf(((Alias) column).child()))
            .toList();
    return new Project(partitioned.projectList(), rebalanced(partitioned.child(), keys));
  }

  /**
   * Sorts rows in the table's order: in each task, partition by partition, or, without partitions,
   * globally.
   */
  private LogicalPlan sorted(LogicalPlan plan, boolean isDistributed) throws Exception {
    JsonNode columns = request.get("order");
    if (columns.isEmpty()) return plan;
    List<Attribute> keys = named(plan, request.get("partition_columns"));
    List<SortOrder> orders = new ArrayList<>();
    for (Attribute key : keys) orders.add(ascending(key));
    for (JsonNode column : columns) {
      orders.add(
          new SortOrder(
              sortKey(plan, column),
              column.get("descending").booleanValue() ? Descending$.MODULE$ : Ascending$.MODULE$,
              column.get("nulls_first").booleanValue() ? NullsFirst$.MODULE$ : NullsLast$.MODULE$,
              ScalaConversions.emptySeq()));
    }
    boolean isGlobal =
        hasDistribution("range")
            || keys.isEmpty() && !hasDistribution("none") && !hasDistribution("hash");
    return new Sort(
        ScalaConversions.seq(orders), isGlobal && !isDistributed, plan, ScalaConversions.none());
  }

  private boolean hasDistribution(String mode) {
    return request.hasNonNull("distribution")
        && request.get("distribution").textValue().equals(mode);
  }

  /** Returns a column, or its transform in the order of values: some transforms return strings. */
  private Expression sortKey(LogicalPlan plan, JsonNode column) throws Exception {
    Expression parsed = parsed(column.get("text"));
    if (!column.hasNonNull("transform")) return parsed;
    Project resolved = (Project) execution(project(List.of(alias(parsed, "key")), plan)).analyzed();
    Expression source = ((Alias) resolved.projectList().head()).child();
    String kind = column.get("transform").textValue();
    Expression value = new PartitionTransform(kind, column.get("width").intValue()).of(source);
    DataType type = kind.equals("truncate") ? source.dataType() : LongType$.MODULE$;
    // Hexadecimal digits have the order of the bytes.
    if (type instanceof StringType || type instanceof BinaryType) return value;
    return new Cast(value, type, zone(), EvalMode$.MODULE$.LEGACY());
  }

  /**
   * Returns whether the rows are so few that a shuffle costs less than a file for each reading
   * task. Queries that end with a shuffle have few tasks already, or as many as their author wants.
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
   * Returns the size of a plan. An inline table such as VALUES (current_timestamp()) has no
   * statistics before the optimizer evaluates it.
   */
  private static BigInteger bytes(LogicalPlan plan) {
    List<LogicalPlan> leaves = ScalaConversions.list(plan.collectLeaves());
    if (leaves.stream().noneMatch(ResolvedInlineTable.class::isInstance))
      return plan.stats().sizeInBytes().bigInteger();
    return leaves.stream()
        .filter(leaf -> !(leaf instanceof ResolvedInlineTable))
        .map(leaf -> leaf.stats().sizeInBytes().bigInteger())
        .reduce(BigInteger.ZERO, BigInteger::add);
  }

  private LogicalPlan rebalanced(LogicalPlan plan, List<? extends Expression> keys) {
    // OutputFileSizes divides a shuffle whose rows are not sorted; sorted ones are divided here.
    long ratio = request.hasNonNull("curve") ? SHUFFLED_RATIO : 1;
    return new RebalancePartitions(
        ScalaConversions.seq(List.copyOf(keys)),
        plan,
        ScalaConversions.none(),
        Option.apply(ratio * request.get("file_bytes").longValue()));
  }

  private static List<Attribute> named(LogicalPlan plan, JsonNode names) {
    Set<String> wanted = new HashSet<>();
    for (JsonNode name : names) wanted.add(name.textValue());
    return ScalaConversions.list(plan.output()).stream()
        .filter(column -> wanted.contains(column.name()))
        .toList();
  }

  /**
   * Sorts each partition of the table along a curve. Rows for several files are distributed to as
   * many tasks by their positions on the curve, with bounds from a sample of the columns, so that
   * whole rows are read once.
   */
  private LogicalPlan alongCurve(LogicalPlan plan, JsonNode request) throws Exception {
    boolean hasFiles = request.hasNonNull("num_files");
    int numFiles = hasFiles ? request.get("num_files").intValue() : 1;
    Project axes = axes(plan, request.get("columns"));
    SpaceFillingCurve curve =
        new SpaceFillingCurve(
            axes.schema(),
            sample(axes, request.get("sampled").doubleValue()),
            request.get("is_hilbert").booleanValue(),
            numFiles);
    List<Expression> values =
        ScalaConversions.list(axes.projectList()).stream()
            .map(axis -> ((Alias) axis).child())
            .toList();
    List<NamedExpression> columns = new ArrayList<>(ScalaConversions.list(plan.output()));
    columns.add(alias(curve.of(values), "place"));
    LogicalPlan positioned = project(columns, plan);
    Attribute position = positioned.output().last();
    List<Attribute> partition = named(positioned, this.request.get("partition_columns"));
    LogicalPlan distributed =
        hasFiles
            ? new RepartitionByExpression(
                ScalaConversions.seq(List.of(new DirectShufflePartitionID(curve.fileOf(position)))),
                positioned,
                Option.apply(numFiles),
                ScalaConversions.none())
            : rebalanced(positioned, partition);
    List<SortOrder> order = new ArrayList<>();
    for (Attribute column : partition) order.add(ascending(column));
    order.add(ascending(position));
    return project(
        new ArrayList<>(ScalaConversions.list(plan.output())),
        new Sort(ScalaConversions.seq(order), false, distributed, ScalaConversions.none()));
  }

  /** Returns a projection to the columns that the curve goes through. */
  private Project axes(LogicalPlan plan, JsonNode columns) throws Exception {
    List<NamedExpression> axes = new ArrayList<>();
    for (JsonNode column : columns) axes.add(alias(parsed(column), "axis" + axes.size()));
    return (Project) execution(project(axes, plan)).analyzed();
  }

  private InternalRow[] sample(LogicalPlan rows, double fraction) throws Exception {
    LogicalPlan some =
        fraction < 1
            ? new Sample(
                0, fraction, false, Option.apply(0L), rows, Sample$.MODULE$.apply$default$6())
            : rows;
    QueryExecution execution = execution(some);
    guard.ensureMayRun(execution.analyzed(), statementId);
    return execution.executedPlan().executeCollect();
  }

  private static SortOrder ascending(Expression value) {
    return SortOrder$.MODULE$.apply(
        value, Ascending$.MODULE$, SortOrder$.MODULE$.apply$default$3());
  }

  private static LogicalPlan project(List<NamedExpression> columns, LogicalPlan child) {
    return new Project(ScalaConversions.seq(columns), child);
  }

  private static NamedExpression alias(Expression value, String name) {
    return alias(value, name, ScalaConversions.none());
  }

  private static NamedExpression alias(Expression value, String name, Option<Metadata> metadata) {
    return new Alias(
        value,
        name,
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.emptySeq(),
        metadata,
        ScalaConversions.emptySeq());
  }
}
