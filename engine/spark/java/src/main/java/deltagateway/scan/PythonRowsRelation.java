package deltagateway.scan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
import java.util.Collections;
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
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of a statement that are in no files: Python makes them when the query is about to run
 * (engine/tables/given_rows.py).
 *
 * <p>Some columns, the keys, are known of all objects that rows are about before any of these is
 * opened. Conditions on keys alone, as the optimizer has moved them to the rows, are evaluated for
 * each object by Spark's own expressions, and rows are asked for of those that they leave. The
 * conditions stay in the plan, so they decide about nothing else.
 *
 * <p>Values of costly columns, for which objects are opened, are requested if the optimized plan
 * uses the columns.
 *
 * <p>Few rows become a local relation, for which no job runs; many are read from Arrow messages by
 * tasks.
 */
public final class PythonRowsRelation extends BaseRelation
    implements org.apache.spark.sql.sources.TableScan {
  private static final int LOCAL_ROWS_MAX = 20_000;

  private final SparkSession spark;
  private final PythonCallbacks questions;
  private final String statementId;
  private final int number;
  private final String name;
  private final StructType schema;
  private final List<String> keys = new ArrayList<>();
  private final List<String> costly = new ArrayList<>();
  private final List<String> usedCostly = new ArrayList<>();
  private final List<String> paths = new ArrayList<>();
  private final String timeZone;
  private List<byte[]> messages = Collections.emptyList();
  private long count;

  /** `given` is what Python says of them, `number` their position among those of the statement. */
  public PythonRowsRelation(
      SparkSession spark,
      PythonCallbacks questions,
      String statementId,
      int number,
      JsonNode given,
      String timeZone) {
    this.spark = spark;
    this.questions = questions;
    this.statementId = statementId;
    this.number = number;
    this.name = given.get("relation").textValue();
    this.schema = StructType.fromDDL(given.get("columns").textValue());
    for (int i = 0; i < given.get("keys").size(); i++) {
      keys.add(given.get("keys").get(i).textValue());
    }
    for (int i = 0; i < given.get("costly").size(); i++) {
      costly.add(given.get("costly").get(i).textValue());
    }
    for (int i = 0; i < given.get("paths").size(); i++) {
      paths.add(given.get("paths").get(i).textValue());
    }
    this.timeZone = timeZone;
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

  /** Returns whether the placed rows have values that the key of an answer does not cover. */
  public boolean usesCostly() {
    return !usedCostly.isEmpty();
  }

  /** A plan over the rows that it needs, which are asked for; `plan` where it has none. */
  public static LogicalPlan placed(SparkSession spark, LogicalPlan plan) {
    Uses uses = new Uses();
    uses.visit(plan, Collections.emptyList(), null);
    if (uses.ofRows.isEmpty()) return plan;
    Uses optimized = new Uses();
    if (uses.haveKeys())
      optimized.visit(
          new StatementQueryExecution(spark, plan).optimizedPlan(), Collections.emptyList(), null);
    for (PythonRowsRelation rows : uses.ofRows.keySet()) {
      try {
        rows.noteCostly(optimized.of(rows));
        rows.fetch(rows.keys.isEmpty() ? null : optimized.of(rows));
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
    return plan.transformDownWithSubqueries(new Placing());
  }

  /** In plans that are shown, where the name is replaced by what users call the relation. */
  public String toString() {
    return name;
  }

  public SQLContext sqlContext() {
    return spark.sqlContext();
  }

  public StructType schema() {
    return schema;
  }

  public boolean needConversion() {
    return false;
  }

  public long sizeInBytes() {
    long bytes = 1;
    for (int i = 0; i < messages.size(); i++) bytes += messages.get(i).length;
    return bytes;
  }

  /** For many rows. */
  public RDD<Row> buildScan() {
    int partitions =
        Math.max(1, Math.min(messages.size(), spark.sparkContext().defaultParallelism()));
    RDD<byte[]> parts =
        spark
            .sparkContext()
            .parallelize(
                ScalaConversions.seq(messages),
                partitions,
                ScalaConversions.classTag(byte[].class));
    return parts.mapPartitions(
        new Decoding(schema, timeZone), false, ScalaConversions.classTag(InternalRow.class));
  }

  /** Asks for the rows of the objects that the conditions of any use leave; null for all. */
  private void fetch(List<Use> uses) throws IOException {
    ObjectNode question = StatementRequest.JSON.createObjectNode();
    question.put("statement", statementId).put("given", number);
    BitSet chosen = uses == null ? null : chosen(uses, question.deepCopy());
    if (chosen == null) {
      question.putNull("chosen");
    } else {
      ArrayNode positions = question.putArray("chosen");
      for (int at = chosen.nextSetBit(0); at >= 0; at = chosen.nextSetBit(at + 1))
        positions.add(at);
    }
    ArrayNode used = question.putArray("used");
    for (int i = 0; i < usedCostly.size(); i++) used.add(usedCostly.get(i));
    messages = new ArrayList<>();
    count = questions.messages(question, messages);
  }

  private void noteCostly(List<Use> uses) {
    usedCostly.clear();
    for (int i = 0; i < costly.size(); i++) {
      boolean isUsed = false;
      for (int j = 0; j < uses.size(); j++) isUsed |= uses.get(j).needs(costly.get(i));
      if (isUsed) usedCostly.add(costly.get(i));
    }
  }

  private BitSet chosen(List<Use> uses, ObjectNode question) throws IOException {
    List<List<BasePredicate>> predicates = new ArrayList<>();
    for (int i = 0; i < uses.size(); i++) {
      List<BasePredicate> ofUse = uses.get(i).predicates(keys);
      if (ofUse.isEmpty()) return null;
      predicates.add(ofUse);
    }
    BitSet chosen = new BitSet();
    if (uses.isEmpty()) return chosen;
    StructType ofKeys = new StructType();
    for (int i = 0; i < keys.size(); i++) ofKeys = ofKeys.add(keys.get(i), StringType$.MODULE$);
    List<byte[]> found = new ArrayList<>();
    questions.messages(question, found);
    scala.collection.Iterator<InternalRow> objects = rows(found.iterator(), ofKeys, timeZone);
    for (int at = 0; objects.hasNext(); at++) {
      InternalRow object = objects.next();
      for (int i = 0; i < predicates.size(); i++) {
        if (mayHold(predicates.get(i), object)) chosen.set(at);
      }
    }
    return chosen;
  }

  /** What fails for an object fails, or does not, where Spark evaluates it. */
  private static boolean mayHold(List<BasePredicate> predicates, InternalRow object) {
    for (int i = 0; i < predicates.size(); i++) {
      try {
        if (!predicates.get(i).eval(object)) return false;
      } catch (RuntimeException failure) {
        continue;
      }
    }
    return true;
  }

  /** Each is good until the next one is asked for. */
  private static scala.collection.Iterator<InternalRow> rows(
      java.util.Iterator<byte[]> messages, StructType schema, String timeZone) {
    return ArrowConverters$.MODULE$.fromBatchIterator(
        CollectionConverters.asScala(messages),
        schema,
        timeZone,
        false,
        false,
        TaskContext$.MODULE$.get());
  }

  private LogicalPlan local(LogicalRelation leaf) {
    List local = new ArrayList<>();
    UnsafeProjection copy = UnsafeProjection$.MODULE$.create(schema);
    scala.collection.Iterator<InternalRow> all = rows(messages.iterator(), schema, timeZone);
    while (all.hasNext()) local.add(copy.apply(all.next()).copy());
    return new LocalRelation(
        leaf.output(), ScalaConversions.seq(local), false, ScalaConversions.none());
  }

  public static PythonRowsRelation of(Object node) {
    if (!(node instanceof LogicalRelation)) return null;
    BaseRelation relation = ((LogicalRelation) node).relation();
    return relation instanceof PythonRowsRelation ? (PythonRowsRelation) relation : null;
  }

  private static final class Placing extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      PythonRowsRelation rows = of(node);
      return rows != null && rows.count <= LOCAL_ROWS_MAX;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      return isDefinedAt(node) ? of(node).local((LogicalRelation) node) : otherwise.apply(node);
    }
  }

  private static final class Decoding extends scala.runtime.AbstractFunction1
      implements Serializable {
    private final StructType schema;
    private final String timeZone;

    Decoding(StructType schema, String timeZone) {
      this.schema = schema;
      this.timeZone = timeZone;
    }

    public Object apply(Object messages) {
      return rows(
          CollectionConverters.asJava((scala.collection.Iterator<byte[]>) messages),
          schema,
          timeZone);
    }
  }

  /** Where a plan has rows, with the conditions above them. */
  private static final class Uses {
    final Map<PythonRowsRelation, List<Use>> ofRows = new IdentityHashMap<>();

    List<Use> of(PythonRowsRelation rows) {
      return ofRows.containsKey(rows) ? ofRows.get(rows) : Collections.emptyList();
    }

    boolean haveKeys() {
      for (PythonRowsRelation rows : ofRows.keySet()) if (!rows.keys.isEmpty()) return true;
      return false;
    }

    /** `needed` are sets of the attributes that nodes above use; null for all. */
    void visit(LogicalPlan node, List<Expression> above, List<AttributeSet> needed) {
      List<LogicalPlan> subqueries = ScalaConversions.list(node.subqueries());
      for (int i = 0; i < subqueries.size(); i++)
        visit(subqueries.get(i), Collections.emptyList(), null);
      PythonRowsRelation rows = PythonRowsRelation.of(node);
      if (rows != null) {
        if (!ofRows.containsKey(rows)) ofRows.put(rows, new ArrayList<>());
        ofRows.get(rows).add(new Use((LogicalRelation) node, above, needed));
        return;
      }
      List<Expression> below = new ArrayList<>();
      if (node instanceof Filter || node instanceof Project) below.addAll(above);
      if (node instanceof Filter) addConjuncts(((Filter) node).condition(), below);
      List<AttributeSet> neededBelow = null;
      if (node instanceof Project || node instanceof Aggregate) {
        neededBelow = Collections.singletonList(node.references());
      } else if (node instanceof Filter && needed != null) {
        neededBelow = new ArrayList<>(needed);
        neededBelow.add(node.references());
      }
      List<LogicalPlan> children = ScalaConversions.list(node.children());
      for (int i = 0; i < children.size(); i++) visit(children.get(i), below, neededBelow);
    }

    private static void addConjuncts(Expression condition, List<Expression> conjuncts) {
      if (!(condition instanceof And)) {
        conjuncts.add(condition);
        return;
      }
      addConjuncts(((And) condition).left(), conjuncts);
      addConjuncts(((And) condition).right(), conjuncts);
    }
  }

  private static final class Use {
    private final LogicalRelation leaf;
    private final List<Expression> conditions;
    private final List<AttributeSet> needed;

    Use(LogicalRelation leaf, List<Expression> conditions, List<AttributeSet> needed) {
      this.leaf = leaf;
      this.conditions = conditions;
      this.needed = needed;
    }

    /** Returns whether the plan uses the column. */
    boolean needs(String column) {
      List<Attribute> output = ScalaConversions.list(leaf.output());
      for (int i = 0; i < output.size(); i++) {
        Attribute attribute = output.get(i);
        if (!attribute.name().equals(column)) continue;
        if (needed == null) return true;
        for (int j = 0; j < needed.size(); j++) if (needed.get(j).contains(attribute)) return true;
      }
      return false;
    }

    /** The conditions on keys alone, over a row of these. */
    List<BasePredicate> predicates(List<String> keys) {
      List<BasePredicate> predicates = new ArrayList<>();
      for (int i = 0; i < conditions.size(); i++) {
        Expression condition = conditions.get(i);
        if (!condition.deterministic() || SubqueryExpression$.MODULE$.hasSubquery(condition))
          continue;
        Binding binding = new Binding(leaf, keys);
        Expression bound = condition.transform(binding);
        if (!binding.isWhole) continue;
        BasePredicate predicate = Predicate.createInterpreted(bound);
        predicate.initialize(0);
        predicates.add(predicate);
      }
      return predicates;
    }
  }

  private static final class Binding extends scala.runtime.AbstractPartialFunction {
    private final List<Attribute> output;
    private final List<String> keys;

    /** Whether all that the condition refers to are keys. */
    boolean isWhole = true;

    Binding(LogicalRelation leaf, List<String> keys) {
      this.output = ScalaConversions.list(leaf.output());
      this.keys = keys;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      AttributeReference asked = (AttributeReference) node;
      for (int i = 0; i < output.size(); i++) {
        Attribute column = output.get(i);
        int key = keys.indexOf(column.name());
        if (key >= 0 && column.exprId().equals(asked.exprId()))
          return new BoundReference(key, asked.dataType(), true);
      }
      isWhole = false;
      return node;
    }
  }
}
