package deltagateway.scan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.StatementRequest;
import deltagateway.session.StatementQueryExecution;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContext$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of a statement that are in no files: Python creates them when the query is about to run
 * (engine/tables/given_rows.py).
 *
 * <p>The rows describe objects. Some columns, the keys, are known before any object is opened. The
 * conditions on keys alone, as the optimizer has pushed them down to the rows, are evaluated here
 * for each object, and Python is asked for the rows of matching objects only. The conditions stay
 * in the plan.
 *
 * <p>Values of costly columns, for which objects are opened, are requested if the optimized plan
 * uses the columns.
 *
 * <p>Few rows become a local relation, which needs no job; many are read from Arrow messages by
 * tasks. Rows of a client are in files, which {@link SpooledRows} reads without Python.
 */
public final class PythonRowsRelation extends BaseRelation
    implements org.apache.spark.sql.sources.TableScan {
  private static final int LOCAL_ROWS_MAX = 20_000;

  private final SparkSession spark;
  private final PythonCallbacks callbacks;
  private final String statementId;
  private final int number;
  private final String name;
  private final StructType schema;
  private final List<String> keys;
  private final List<String> costly;
  private final List<String> paths;
  private final String timeZone;

  /** The files of a client's rows; null for rows that Python creates. */
  private final SpooledRows spooled;

  private List<String> usedCostly = List.of();
  private List<byte[]> messages = List.of();
  private long count;

  /** `given` is Python's description, `number` its position in the statement. */
  public PythonRowsRelation(
      SparkSession spark,
      PythonCallbacks callbacks,
      String statementId,
      int number,
      JsonNode given,
      String timeZone) {
    this.spark = spark;
    this.callbacks = callbacks;
    this.statementId = statementId;
    this.number = number;
    this.name = given.get("relation").textValue();
    this.schema = StructType.fromDDL(given.get("columns").textValue());
    this.keys = texts(given.get("keys"));
    this.costly = texts(given.get("costly"));
    this.paths = texts(given.get("paths"));
    this.timeZone = timeZone;
    this.spooled = given.hasNonNull("spooled") ? new SpooledRows(given.get("spooled")) : null;
  }

  private static List<String> texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    for (JsonNode text : list) texts.add(text.textValue());
    return texts;
  }

  public LogicalPlan relation() {
    return LogicalRelation$.MODULE$.apply(this, false);
  }

  public String statementId() {
    return statementId;
  }

  /** Returns whether a column contains paths of files. */
  public boolean isOfPaths(String column) {
    return paths.contains(column);
  }

  /** Returns whether the rows have values that the result cache's key does not cover. */
  public boolean usesCostly() {
    return !usedCostly.isEmpty();
  }

  /** Fetches the rows that a plan needs and returns the plan over them. */
  public static LogicalPlan placed(SparkSession spark, LogicalPlan plan) {
    Uses uses = new Uses();
    uses.visit(plan, List.of(), null);
    if (uses.byRelation.isEmpty()) return plan;
    Uses optimized = new Uses();
    if (uses.haveKeys())
      optimized.visit(new StatementQueryExecution(spark, plan).optimizedPlan(), List.of(), null);
    for (PythonRowsRelation rows : uses.byRelation.keySet()) {
      try {
        rows.fetch(optimized.of(rows));
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
    return plan.transformDownWithSubqueries(ScalaConversions.rewrite(PythonRowsRelation::local));
  }

  /** Returns the name for plans that EXPLAIN prints, where it is replaced by the relation's. */
  @Override
  public String toString() {
    return name;
  }

  @Override
  public SQLContext sqlContext() {
    return spark.sqlContext();
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public boolean needConversion() {
    return false;
  }

  @Override
  public long sizeInBytes() {
    if (spooled != null) return 1 + spooled.bytes();
    return 1 + messages.stream().mapToLong(message -> message.length).sum();
  }

  @Override
  public RDD<Row> buildScan() {
    if (spooled != null) return spooled.scan(spark, schema, timeZone);
    int partitions =
        Math.max(1, Math.min(messages.size(), spark.sparkContext().defaultParallelism()));
    // Without a conversion (needConversion), Spark takes the rows as internal ones.
    return spark
        .sparkContext()
        .parallelize(
            ScalaConversions.seq(messages), partitions, ScalaConversions.classTag(byte[].class))
        .mapPartitions(new Decoder(schema, timeZone), false, ScalaConversions.classTag(Row.class));
  }

  /** Fetches the rows of the objects that match the conditions of any use. */
  private void fetch(List<Use> uses) throws IOException {
    if (spooled != null) {
      count = spooled.isSmall() ? spooled.rows() : Long.MAX_VALUE;
      if (spooled.isSmall()) messages = spooled.messages();
      return;
    }
    usedCostly =
        costly.stream().filter(column -> uses.stream().anyMatch(use -> use.needs(column))).toList();
    ObjectNode request = StatementRequest.JSON.createObjectNode();
    request.put("statement", statementId).put("given", number);
    BitSet chosen = keys.isEmpty() ? null : chosen(uses, request.deepCopy());
    if (chosen == null) request.putNull("chosen");
    else chosen.stream().forEach(request.putArray("chosen")::add);
    usedCostly.forEach(request.putArray("used")::add);
    messages = new ArrayList<>();
    count = callbacks.messages(request, messages);
  }

  /** Returns the positions of the objects that may match, or null for all. */
  private BitSet chosen(List<Use> uses, ObjectNode request) throws IOException {
    List<List<BasePredicate>> predicates = uses.stream().map(use -> use.predicates(keys)).toList();
    if (predicates.stream().anyMatch(List::isEmpty)) return null;
    BitSet chosen = new BitSet();
    if (uses.isEmpty()) return chosen;
    StructType ofKeys = new StructType();
    for (String key : keys) ofKeys = ofKeys.add(key, StringType$.MODULE$);
    List<byte[]> found = new ArrayList<>();
    callbacks.messages(request, found);
    Iterator<InternalRow> objects = rows(found.iterator(), ofKeys, timeZone);
    for (int position = 0; objects.hasNext(); position++) {
      InternalRow object = objects.next();
      if (predicates.stream().anyMatch(ofUse -> mayMatch(ofUse, object))) chosen.set(position);
    }
    return chosen;
  }

  /** A condition that fails for an object fails again, or not, where Spark evaluates it. */
  private static boolean mayMatch(List<BasePredicate> predicates, InternalRow object) {
    for (BasePredicate predicate : predicates) {
      try {
        if (!predicate.eval(object)) return false;
      } catch (RuntimeException failure) {
        continue;
      }
    }
    return true;
  }

  /** Decodes messages; each row is valid until the next one is read. */
  private static Iterator<InternalRow> rows(
      java.util.Iterator<byte[]> messages, StructType schema, String timeZone) {
    return ArrowConverters$.MODULE$.fromBatchIterator(
        CollectionConverters.asScala(messages),
        schema,
        timeZone,
        false,
        false,
        TaskContext$.MODULE$.get());
  }

  private static LogicalPlan local(LogicalPlan node) {
    PythonRowsRelation relation = of(node);
    if (relation == null || relation.count > LOCAL_ROWS_MAX) return node;
    List<InternalRow> local = new ArrayList<>();
    UnsafeProjection copy = UnsafeProjection$.MODULE$.create(relation.schema);
    Iterator<InternalRow> all =
        rows(relation.messages.iterator(), relation.schema, relation.timeZone);
    while (all.hasNext()) local.add(copy.apply(all.next()).copy());
    return new LocalRelation(
        node.output(), ScalaConversions.seq(local), false, ScalaConversions.none());
  }

  /** Returns the relation of a leaf of a plan, or null if it has another one. */
  public static PythonRowsRelation of(Object node) {
    return node instanceof LogicalRelation leaf
            && leaf.relation() instanceof PythonRowsRelation relation
        ? relation
        : null;
  }

  private record Decoder(StructType schema, String timeZone)
      implements Function1<Iterator<byte[]>, Iterator<Row>>, Serializable {
    @Override
    public Iterator<Row> apply(Iterator<byte[]> messages) {
      return ErasedIterators.as(rows(CollectionConverters.asJava(messages), schema, timeZone));
    }
  }

  /** Uses of relations in a plan, with the conditions above them. */
  private static final class Uses {
    final Map<PythonRowsRelation, List<Use>> byRelation = new IdentityHashMap<>();

    List<Use> of(PythonRowsRelation rows) {
      return byRelation.getOrDefault(rows, List.of());
    }

    boolean haveKeys() {
      return byRelation.keySet().stream().anyMatch(rows -> !rows.keys.isEmpty());
    }

    /** `needed` are sets of the attributes that nodes above use; null for all. */
    void visit(LogicalPlan node, List<Expression> above, List<AttributeSet> needed) {
      for (LogicalPlan subquery : ScalaConversions.list(node.subqueries()))
        visit(subquery, List.of(), null);
      PythonRowsRelation rows = PythonRowsRelation.of(node);
      if (rows != null) {
        byRelation
            .computeIfAbsent(rows, key -> new ArrayList<>())
            .add(new Use(ScalaConversions.list(node.output()), above, needed));
        return;
      }
      List<Expression> below = new ArrayList<>();
      if (node instanceof Filter || node instanceof Project) below.addAll(above);
      if (node instanceof Filter filter) addConjuncts(filter.condition(), below);
      List<AttributeSet> neededBelow = null;
      if (node instanceof Project || node instanceof Aggregate) {
        neededBelow = List.of(node.references());
      } else if (node instanceof Filter && needed != null) {
        neededBelow = new ArrayList<>(needed);
        neededBelow.add(node.references());
      }
      for (LogicalPlan child : ScalaConversions.list(node.children()))
        visit(child, below, neededBelow);
    }

    private static void addConjuncts(Expression condition, List<Expression> conjuncts) {
      if (!(condition instanceof And and)) {
        conjuncts.add(condition);
        return;
      }
      addConjuncts(and.left(), conjuncts);
      addConjuncts(and.right(), conjuncts);
    }
  }

  private record Use(
      List<Attribute> output, List<Expression> conditions, List<AttributeSet> needed) {
    /** Returns whether the plan uses the column. */
    boolean needs(String column) {
      return output.stream()
          .filter(attribute -> attribute.name().equals(column))
          .anyMatch(
              attribute ->
                  needed == null || needed.stream().anyMatch(set -> set.contains(attribute)));
    }

    /** Returns the conditions on keys alone, bound to a row of keys. */
    List<BasePredicate> predicates(List<String> keys) {
      List<BasePredicate> predicates = new ArrayList<>();
      for (Expression condition : conditions) {
        if (!condition.deterministic() || SubqueryExpression$.MODULE$.hasSubquery(condition))
          continue;
        Expression bound = condition.transform(ScalaConversions.rewrite(node -> bind(node, keys)));
        if (!bound.references().isEmpty()) continue; // not on keys alone
        BasePredicate predicate = Predicate.createInterpreted(bound);
        predicate.initialize(0);
        predicates.add(predicate);
      }
      return predicates;
    }

    private Expression bind(Expression node, List<String> keys) {
      if (!(node instanceof AttributeReference column)) return node;
      for (Attribute attribute : output) {
        int key = keys.indexOf(attribute.name());
        if (key >= 0 && attribute.exprId().equals(column.exprId()))
          return new BoundReference(key, column.dataType(), true);
      }
      return node;
    }
  }
}
