package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.PythonRowsRelation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.ExprId;
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
import scala.collection.immutable.Seq;

/**
 * Lineage of an analyzed query: the columns of its scans that it reads, and the sources of each of
 * its columns.
 *
 * <p>An attribute is followed by its id from the scans up: through aliases, by position through
 * unions and common table expressions, into subqueries. New columns of an unknown node have all of
 * its inputs as sources, so that no column that was read is missing. Columns that only decide on
 * rows and their order (WHERE, ON, GROUP BY, ORDER BY, EXISTS, IN, EXCEPT) are listed once, for the
 * whole query.
 */
public final class ColumnLineage {
  /** Transformations in ascending order: the last one counts for a column that has several. */
  private enum Kind {
    IDENTITY,
    TRANSFORMATION,
    AGGREGATION;

    Kind and(Kind other) {
      return compareTo(other) >= 0 ? this : other;
    }
  }

  private record Source(String relation, String column) {}

  /** Source of values made from the path of a file or from a position in a file. */
  private static final Source FILE_PATH = new Source("", "");

  /** Sources of a value, with their kinds. */
  private static final class Sources {
    final Map<Source, Kind> kinds = new LinkedHashMap<>();

    void add(Source source, Kind kind) {
      kinds.merge(source, kind, Kind::and);
    }

    /** Adds the sources of another value that `kind` is applied to. */
    void addAll(Sources sources, Kind kind) {
      sources.kinds.forEach((source, before) -> add(source, before.and(kind)));
    }

    void write(ArrayNode array) {
      kinds.forEach(
          (source, kind) -> {
            if (!source.equals(FILE_PATH))
              array.addArray().add(source.relation()).add(source.column()).add(kind.name());
          });
    }
  }

  private final Map<ExprId, Sources> sourcesOf = new HashMap<>();

  /** Sources of the fields of attributes that are structs of expressions. */
  private final Map<ExprId, List<Sources>> fieldsOf = new HashMap<>();

  /** Sources of the columns of common table expressions and recursive unions, by their id. */
  private final Map<Long, List<Sources>> definitions = new HashMap<>();

  /** Columns that decide on rows. */
  private final Sources rowSources = new Sources();

  private ColumnLineage(LogicalPlan analyzed) {
    visit(analyzed);
  }

  /**
   * Returns JSON: `columns`, with the name and sources of each; `rows`, the sources that decide on
   * rows. A source is an array of relation, column and kind.
   */
  public static String toJson(LogicalPlan analyzed) throws JsonProcessingException {
    ColumnLineage lineage = new ColumnLineage(analyzed);
    ObjectNode answer = StatementRequest.JSON.createObjectNode();
    ArrayNode columns = answer.putArray("columns");
    boolean isCommand = analyzed.output().isEmpty() && analyzed.children().size() == 1;
    LogicalPlan query = isCommand ? analyzed.children().apply(0) : analyzed;
    for (Attribute column : list(query.output())) {
      ObjectNode node = columns.addObject().put("name", column.name());
      lineage.sourcesOf(column).write(node.putArray("sources"));
    }
    lineage.rowSources.write(answer.putArray("rows"));
    return StatementRequest.JSON.writeValueAsString(answer);
  }

  /** Returns for each column of an analyzed query if a file's path or a position is a source. */
  public static boolean[] dependsOnFilePaths(LogicalPlan analyzed) {
    ColumnLineage lineage = new ColumnLineage(analyzed);
    List<Sources> columns = lineage.columnsOf(analyzed);
    boolean[] depends = new boolean[columns.size()];
    for (int i = 0; i < depends.length; i++)
      depends[i] = columns.get(i).kinds.containsKey(FILE_PATH);
    return depends;
  }

  private void visit(LogicalPlan plan) {
    if (plan instanceof LogicalRelation leaf) {
      visitScan(leaf);
    } else if (plan instanceof CTERelationRef reference) {
      copyDefinition(plan, reference.cteId());
    } else if (plan instanceof UnionLoopRef reference) {
      copyDefinition(plan, reference.loopId());
    } else if (plan instanceof WithCTE with) {
      for (CTERelationDef definition : list(with.cteDefs())) {
        visit(definition.child());
        definitions.put(definition.id(), columnsOf(definition.child()));
      }
      visit(with.plan());
    } else if (plan instanceof UnionLoop loop) {
      visit(loop.anchor());
      definitions.put(loop.id(), columnsOf(loop.anchor()));
      visit(loop.recursion());
      mergeByPosition(plan);
    } else {
      for (LogicalPlan child : list(plan.children())) visit(child);
      visitExpressions(plan);
      addUnknownColumns(plan);
    }
  }

  /** Visits the expressions of a node, whose children have been visited. */
  private void visitExpressions(LogicalPlan plan) {
    if (plan instanceof Project project) {
      visitNamed(list(project.projectList()));
    } else if (plan instanceof Aggregate aggregate) {
      visitNamed(list(aggregate.aggregateExpressions()));
      addToRows(list(aggregate.groupingExpressions()));
    } else if (plan instanceof Window window) {
      visitNamed(list(window.windowExpressions()));
    } else if (plan instanceof Union) {
      mergeByPosition(plan);
    } else if (plan instanceof Generate generate) {
      Sources sources = sourcesOf((Expression) generate.generator(), Kind.TRANSFORMATION);
      for (Attribute column : list(generate.generatorOutput())) put(column, sources);
    } else if (plan instanceof Expand expand) {
      visitExpand(expand);
    } else if (plan instanceof Except || plan instanceof Intersect) {
      for (LogicalPlan child : list(plan.children())) {
        for (Sources column : columnsOf(child)) rowSources.addAll(column, Kind.IDENTITY);
      }
    } else {
      addToRows(list(plan.expressions()));
    }
  }

  /** Gives all inputs of a node as sources to those of its columns that have none yet. */
  private void addUnknownColumns(LogicalPlan plan) {
    Sources inputs = null;
    for (Attribute column : list(plan.output())) {
      if (sourcesOf.containsKey(column.exprId())) continue;
      if (inputs == null) inputs = inputsOf(plan);
      put(column, inputs);
    }
  }

  private Sources inputsOf(LogicalPlan plan) {
    Sources inputs = new Sources();
    for (LogicalPlan child : list(plan.children())) {
      for (Sources column : columnsOf(child)) inputs.addAll(column, Kind.TRANSFORMATION);
    }
    for (Expression expression : list(plan.expressions()))
      addSources(expression, Kind.TRANSFORMATION, inputs);
    return inputs;
  }

  private void visitScan(LogicalRelation leaf) {
    PythonRowsRelation pythonRows = PythonRowsRelation.of(leaf);
    if (pythonRows != null) {
      for (Attribute column : list(leaf.output())) {
        Sources sources = new Sources();
        if (pythonRows.isOfPaths(column.name())) sources.add(FILE_PATH, Kind.IDENTITY);
        put(column, sources);
      }
    } else if (leaf.relation() instanceof HadoopFsRelation relation
        && relation.location() instanceof PrunedFileIndex files) {
      StatementRequest.Scan scan = files.scan();
      int position = 0;
      for (Attribute column : list(leaf.output())) {
        Sources sources = new Sources();
        sources.add(new Source(scan.relation, column.name()), Kind.IDENTITY);
        boolean isMetadata = position++ >= relation.schema().length();
        if (isMetadata || scan.pathColumns.contains(column.name()))
          sources.add(FILE_PATH, Kind.IDENTITY);
        put(column, sources);
      }
    }
  }

  private void copyDefinition(LogicalPlan reference, long id) {
    List<Sources> columns = definitions.getOrDefault(id, List.of());
    List<Attribute> output = list(reference.output());
    for (int i = 0; i < columns.size() && i < output.size(); i++)
      put(output.get(i), columns.get(i));
  }

  private void mergeByPosition(LogicalPlan union) {
    List<Attribute> output = list(union.output());
    for (int i = 0; i < output.size(); i++) {
      Sources sources = new Sources();
      for (LogicalPlan child : list(union.children())) {
        List<Sources> columns = columnsOf(child);
        if (i < columns.size()) sources.addAll(columns.get(i), Kind.IDENTITY);
      }
      put(output.get(i), sources);
    }
  }

  private void visitExpand(Expand expand) {
    List<Attribute> output = list(expand.output());
    for (int i = 0; i < output.size(); i++) {
      Sources sources = new Sources();
      for (Seq<Expression> projection : list(expand.projections()))
        addSources(projection.apply(i), Kind.IDENTITY, sources);
      put(output.get(i), sources);
    }
  }

  private void visitNamed(List<NamedExpression> expressions) {
    for (NamedExpression expression : expressions) {
      if (!(expression instanceof Alias alias)) continue;
      Expression value = alias.child();
      put(alias.toAttribute(), sourcesOf(value, Kind.IDENTITY));
      if (value instanceof CreateNamedStruct struct) {
        List<Sources> fields = new ArrayList<>();
        for (Expression field : list(struct.valExprs()))
          fields.add(sourcesOf(field, Kind.TRANSFORMATION));
        fieldsOf.put(alias.exprId(), fields);
      } else if (value instanceof Attribute column && fieldsOf.containsKey(column.exprId())) {
        fieldsOf.put(alias.exprId(), fieldsOf.get(column.exprId()));
      }
    }
  }

  private void addToRows(List<Expression> expressions) {
    for (Expression expression : expressions) addSources(expression, Kind.IDENTITY, rowSources);
  }

  private Sources sourcesOf(Expression expression, Kind kind) {
    Sources sources = new Sources();
    addSources(expression, kind, sources);
    return sources;
  }

  /** Adds the sources of an expression whose value `kind` is applied to. */
  private void addSources(Expression expression, Kind kind, Sources sources) {
    if (expression instanceof Attribute column) {
      sources.addAll(sourcesOf(column), kind);
      return;
    }
    if (expression instanceof OuterReference reference) {
      addSources((Expression) reference.e(), kind, sources);
      return;
    }
    if (expression instanceof Alias alias) {
      addSources(alias.child(), kind, sources);
      return;
    }
    if (expression instanceof GetStructField field
        && field.child() instanceof Attribute struct
        && fieldsOf.containsKey(struct.exprId())) {
      Sources value = fieldsOf.get(struct.exprId()).get(field.ordinal());
      sources.addAll(value, kind.and(Kind.TRANSFORMATION));
      return;
    }
    if (isFilePath(expression)) sources.add(FILE_PATH, Kind.TRANSFORMATION);
    boolean isAggregate = expression instanceof AggregateExpression;
    Kind applied = kind.and(isAggregate ? Kind.AGGREGATION : Kind.TRANSFORMATION);
    if (expression instanceof SubqueryExpression subquery) {
      visit(subquery.plan());
      for (Sources column : columnsOf(subquery.plan())) sources.addAll(column, applied);
    }
    for (Expression child : list(expression.children())) addSources(child, applied, sources);
  }

  private static boolean isFilePath(Expression expression) {
    return expression instanceof InputFileName
        || expression instanceof InputFileBlockStart
        || expression instanceof InputFileBlockLength;
  }

  private List<Sources> columnsOf(LogicalPlan plan) {
    return list(plan.output()).stream().map(this::sourcesOf).toList();
  }

  private Sources sourcesOf(Attribute column) {
    return sourcesOf.getOrDefault(column.exprId(), new Sources());
  }

  private void put(Attribute column, Sources sources) {
    sourcesOf.put(column.exprId(), sources);
  }
}
