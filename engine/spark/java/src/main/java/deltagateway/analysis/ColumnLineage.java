package deltagateway.analysis;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.PythonRowsRelation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockLength;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockStart;
import org.apache.spark.sql.catalyst.expressions.InputFileName;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Except;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Intersect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.UnionLoop;
import org.apache.spark.sql.catalyst.plans.logical.UnionLoopRef;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Which columns of its scans an analyzed query reads, and which of them the values of each of its
 * columns are made of.
 *
 * <p>An attribute has an id, which is followed from the scans up: through aliases, by position
 * through unions and common table expressions, into subqueries. A node that is not known here
 * passes everything on to its new columns, so that what is missing is never a column that was read.
 * What only decides which rows there are, or in which order (WHERE, ON, GROUP BY, ORDER BY, EXISTS,
 * IN, EXCEPT), is told once, for the whole query.
 */
public final class ColumnLineage {
  /**
   * In ascending order of what happened to the values; of a column that is read in several ways the
   * last counts.
   */
  private static final String[] KINDS = {"IDENTITY", "TRANSFORMATION", "AGGREGATION"};

  private static final int TRANSFORMED = 1, AGGREGATED = 2;

  /** The source of what is made of a file's name or of a place in a file. */
  private static final String PLACE = "\0";

  /** Id of an attribute to its sources: `relation NUL column` to the position of its kind. */
  private final Map<Object, Map<?, ?>> sources = new HashMap<>();

  /**
   * Id of an attribute that is a struct made of values to the sources of each of these, in their
   * order.
   */
  private final Map<Object, List<Map<?, ?>>> fields = new HashMap<>();

  /** Id of a common table expression or a loop to the sources of its columns, in their order. */
  private final Map<Long, List<?>> definitions = new HashMap<>();

  private final Map<String, Integer> rows = new LinkedHashMap<>();

  private ColumnLineage() {}

  /**
   * `columns`: name and sources of each; `rows`: what decides on rows. A source is relation, column
   * and kind.
   */
  public static String of(LogicalPlan analyzed) throws Exception {
    ColumnLineage lineage = new ColumnLineage();
    lineage.visit(analyzed);
    ObjectNode told = StatementRequest.JSON.createObjectNode();
    ArrayNode columns = told.putArray("columns");
    boolean isCommand = analyzed.output().isEmpty() && analyzed.children().size() == 1;
    LogicalPlan query = isCommand ? analyzed.children().apply(0) : analyzed;
    for (Iterator<Attribute> all = ScalaConversions.list(query.output()).iterator();
        all.hasNext(); ) {
      Attribute column = all.next();
      ObjectNode each = columns.addObject();
      each.put("name", column.name());
      add(each.putArray("sources"), lineage.known(column));
    }
    add(told.putArray("rows"), lineage.rows);
    return StatementRequest.JSON.writeValueAsString(told);
  }

  /** Whether each column of an analyzed query is made of names of files or of places in them. */
  public static boolean[] places(LogicalPlan analyzed) {
    ColumnLineage lineage = new ColumnLineage();
    lineage.visit(analyzed);
    List<Attribute> columns = ScalaConversions.list(analyzed.output());
    boolean[] found = new boolean[columns.size()];
    for (int i = 0; i < found.length; i++)
      found[i] = lineage.known(columns.get(i)).containsKey(PLACE);
    return found;
  }

  private static void add(ArrayNode told, Map<String, Integer> found) {
    for (Iterator<Map.Entry<String, Integer>> all = found.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry<String, Integer> each = all.next();
      if (each.getKey().equals(PLACE)) continue;
      String[] place = each.getKey().split("\0", 2);
      told.addArray().add(place[0]).add(place[1]).add(KINDS[each.getValue().intValue()]);
    }
  }

  private void visit(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      scan((LogicalRelation) plan);
      return;
    }
    if (plan instanceof CTERelationRef) {
      copy(plan, definitions.get(Long.valueOf(((CTERelationRef) plan).cteId())));
      return;
    }
    if (plan instanceof UnionLoopRef) {
      copy(plan, definitions.get(Long.valueOf(((UnionLoopRef) plan).loopId())));
      return;
    }
    if (plan instanceof WithCTE) {
      List<CTERelationDef> defined = ScalaConversions.list(((WithCTE) plan).cteDefs());
      for (int i = 0; i < defined.size(); i++) define(defined.get(i));
      visit(((WithCTE) plan).plan());
      return;
    }
    if (plan instanceof UnionLoop) {
      UnionLoop loop = (UnionLoop) plan;
      visit(loop.anchor());
      definitions.put(Long.valueOf(loop.id()), columnsOf(loop.anchor()));
      visit(loop.recursion());
      byPosition(plan);
      return;
    }
    List<LogicalPlan> children = ScalaConversions.list(plan.children());
    for (int i = 0; i < children.size(); i++) visit(children.get(i));
    own(plan);
  }

  private void define(CTERelationDef defined) {
    visit(defined.child());
    definitions.put(Long.valueOf(defined.id()), columnsOf(defined.child()));
  }

  /** The expressions of a node, whose children are known. */
  private void own(LogicalPlan plan) {
    if (plan instanceof Project) {
      named(ScalaConversions.list(((Project) plan).projectList()));
    } else if (plan instanceof Aggregate) {
      named(ScalaConversions.list(((Aggregate) plan).aggregateExpressions()));
      decide(ScalaConversions.list(((Aggregate) plan).groupingExpressions()));
    } else if (plan instanceof Window) {
      named(ScalaConversions.list(((Window) plan).windowExpressions()));
    } else if (plan instanceof Union) {
      byPosition(plan);
    } else if (plan instanceof Generate) {
      Map<String, Integer> found = of((Expression) ((Generate) plan).generator(), TRANSFORMED);
      List<Attribute> made = ScalaConversions.list(((Generate) plan).generatorOutput());
      for (int i = 0; i < made.size(); i++) put(made.get(i), found);
    } else if (plan instanceof Expand) {
      expanded((Expand) plan);
    } else if (plan instanceof Except || plan instanceof Intersect) {
      List<LogicalPlan> children = ScalaConversions.list(plan.children());
      for (int i = 0; i < children.size(); i++) {
        for (Iterator<Map<String, Integer>> all = columnsOf(children.get(i)).iterator();
            all.hasNext(); ) {
          merge(rows, all.next(), 0);
        }
      }
    } else {
      decide(ScalaConversions.list(plan.expressions()));
    }
    passOn(plan);
  }

  /** Columns of a node that nothing above says anything of are made of all that it has. */
  private void passOn(LogicalPlan plan) {
    Map<String, Integer> everything = null;
    List<Attribute> output = ScalaConversions.list(plan.output());
    for (int i = 0; i < output.size(); i++) {
      Attribute column = output.get(i);
      if (sources.containsKey(id(column))) continue;
      if (everything == null) {
        everything = new LinkedHashMap<>();
        List<LogicalPlan> children = ScalaConversions.list(plan.children());
        for (int j = 0; j < children.size(); j++) {
          for (Iterator<Map<String, Integer>> all = columnsOf(children.get(j)).iterator();
              all.hasNext(); ) {
            merge(everything, all.next(), TRANSFORMED);
          }
        }
        List<Expression> expressions = ScalaConversions.list(plan.expressions());
        for (int j = 0; j < expressions.size(); j++) {
          merge(everything, of(expressions.get(j), TRANSFORMED), TRANSFORMED);
        }
      }
      put(column, everything);
    }
  }

  private void scan(LogicalRelation leaf) {
    PythonRowsRelation given = PythonRowsRelation.of(leaf);
    if (given != null) {
      List columns = ScalaConversions.list(leaf.output());
      for (int i = 0; i < columns.size(); i++) {
        Attribute column = (Attribute) columns.get(i);
        Map own = new LinkedHashMap();
        if (given.isOfPaths(column.name())) own.put(PLACE, Integer.valueOf(0));
        put(column, own);
      }
      return;
    }
    if (!(leaf.relation() instanceof HadoopFsRelation)) return;
    HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
    if (!(relation.location() instanceof PrunedFileIndex)) return;
    StatementRequest.Scan scan = ((PrunedFileIndex) relation.location()).scan();
    String name = scan.relation;
    List<Attribute> output = ScalaConversions.list(leaf.output());
    for (int i = 0; i < output.size(); i++) {
      Attribute column = output.get(i);
      Map<String, Integer> own = new LinkedHashMap<>();
      own.put(name + "\0" + column.name(), Integer.valueOf(0));
      boolean isHidden = i >= relation.schema().length();
      if (isHidden || scan.pathColumns.contains(column.name())) own.put(PLACE, Integer.valueOf(0));
      put(column, own);
    }
  }

  private void copy(LogicalPlan leaf, Object defined) {
    if (defined == null) return;
    List output = ScalaConversions.list(leaf.output()), columns = (List) defined;
    for (int i = 0; i < output.size() && i < columns.size(); i++)
      put((Attribute) output.get(i), (Map<String, Integer>) columns.get(i));
  }

  private void byPosition(LogicalPlan plan) {
    List output = ScalaConversions.list(plan.output()),
        children = ScalaConversions.list(plan.children());
    for (int i = 0; i < output.size(); i++) {
      Map found = new LinkedHashMap<>();
      for (int j = 0; j < children.size(); j++) {
        List<Attribute> columns = ScalaConversions.list(((LogicalPlan) children.get(j)).output());
        if (i < columns.size()) merge(found, known(columns.get(i)), 0);
      }
      put((Attribute) output.get(i), found);
    }
  }

  private void expanded(Expand plan) {
    List output = ScalaConversions.list(plan.output()),
        projections = ScalaConversions.list(plan.projections());
    for (int i = 0; i < output.size(); i++) {
      Map<String, Integer> found = new LinkedHashMap<>();
      for (int j = 0; j < projections.size(); j++) {
        merge(found, of(((scala.collection.Seq<Expression>) projections.get(j)).apply(i), 0), 0);
      }
      put((Attribute) output.get(i), found);
    }
  }

  private void named(List<NamedExpression> expressions) {
    for (int i = 0; i < expressions.size(); i++) {
      NamedExpression each = expressions.get(i);
      if (!(each instanceof Alias)) continue;
      Attribute column = ((Alias) each).toAttribute();
      Expression value = ((Alias) each).child();
      put(column, of(value, 0));
      if (value instanceof CreateNamedStruct) {
        List<Map<?, ?>> made = new ArrayList<>();
        for (Expression one : ScalaConversions.list(((CreateNamedStruct) value).valExprs()))
          made.add(of(one, TRANSFORMED));
        fields.put(id(column), made);
      } else if (value instanceof Attribute && fields.containsKey(id((Attribute) value))) {
        fields.put(id(column), fields.get(id((Attribute) value)));
      }
    }
  }

  private void decide(List<Expression> expressions) {
    for (int i = 0; i < expressions.size(); i++) merge(rows, of(expressions.get(i), 0), 0);
  }

  /** The sources of a value; `kind` is what has become of them on the way already. */
  private Map<String, Integer> of(Expression expression, int kind) {
    Map<String, Integer> found = new LinkedHashMap<>();
    gather(expression, kind, found);
    return found;
  }

  private void gather(Expression expression, int kind, Map<String, Integer> found) {
    if (expression instanceof Attribute) {
      merge(found, known((Attribute) expression), kind);
      return;
    }
    if (expression instanceof OuterReference) {
      gather((Expression) ((OuterReference) expression).e(), kind, found);
      return;
    }
    if (expression instanceof Alias) {
      gather(((Alias) expression).child(), kind, found);
      return;
    }
    if (expression instanceof GetStructField
        && ((GetStructField) expression).child() instanceof Attribute) {
      List made = (List) fields.get(id((Attribute) ((GetStructField) expression).child()));
      if (made != null) {
        merge(
            found,
            (Map) made.get(((GetStructField) expression).ordinal()),
            Math.max(kind, TRANSFORMED));
        return;
      }
    }
    if (isPlace(expression)) found.put(PLACE, Integer.valueOf(TRANSFORMED));
    int own = Math.max(kind, expression instanceof AggregateExpression ? AGGREGATED : TRANSFORMED);
    if (expression instanceof SubqueryExpression) {
      LogicalPlan plan = ((SubqueryExpression) expression).plan();
      visit(plan);
      for (Iterator<Map<String, Integer>> all = columnsOf(plan).iterator(); all.hasNext(); )
        merge(found, all.next(), own);
    }
    List<Expression> children = ScalaConversions.list(expression.children());
    for (int i = 0; i < children.size(); i++) gather(children.get(i), own, found);
  }

  private static boolean isPlace(Expression expression) {
    return expression instanceof InputFileName
        || expression instanceof InputFileBlockStart
        || expression instanceof InputFileBlockLength;
  }

  private List columnsOf(LogicalPlan plan) {
    List output = ScalaConversions.list(plan.output()), found = new ArrayList<>();
    for (int i = 0; i < output.size(); i++) found.add(known((Attribute) output.get(i)));
    return found;
  }

  private static Object id(Attribute column) {
    return Long.valueOf(column.exprId().id());
  }

  private Map known(Attribute column) {
    Map<?, ?> found = (Map<?, ?>) sources.get(id(column));
    return found == null ? new LinkedHashMap<>() : found;
  }

  private void put(Attribute column, Map<String, Integer> found) {
    sources.put(id(column), found);
  }

  private static void merge(Map<String, Integer> into, Map<String, Integer> from, int kind) {
    for (Iterator<Map.Entry<String, Integer>> all = from.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry<String, Integer> each = all.next();
      Integer before = into.get(each.getKey());
      int now = Math.max(kind, each.getValue().intValue());
      if (before == null || before.intValue() < now) into.put(each.getKey(), Integer.valueOf(now));
    }
  }
}
