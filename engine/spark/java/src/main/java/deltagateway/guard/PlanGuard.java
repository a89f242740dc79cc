package deltagateway.guard;

import static deltagateway.internals.ScalaConversions.list;

import deltagateway.analysis.FunctionBodies;
import deltagateway.internals.TreeVisitor;
import deltagateway.protocol.RejectionException;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.PythonRowsRelation;
import deltagateway.write.IdentityColumnValues;
import deltagateway.write.clustering.SpaceFillingCurve;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.ObjectType;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;

/**
 * Decides, fail closed, if Spark may analyze a parsed plan and if it may run an analyzed one.
 *
 * <p>Analysis alone can open files (a relation named by a path runs a job to infer its schema), so
 * the parsed plan is checked first: its operators, expressions and functions must be in allow-lists
 * and its relations must be bound by the statement or be a common table expression in scope. After
 * analysis every leaf must be a scan of this statement or a literal source.
 *
 * <p>Both checks visit everything that a node refers to, not only its children: subqueries are in
 * expressions, definitions of common table expressions in tuples, named windows in maps.
 */
public final class PlanGuard {
  private static final String CATALYST = "org.apache.spark.sql.catalyst.";

  /** Prefixes of the classes whose methods Spark's own functions call by name. */
  private static final List<String> METHODS_OF =
      List.of(CATALYST, "org.apache.spark.unsafe.", "deltagateway.");

  /** Operators that a query may have before and after analysis. */
  private static final Set<String> OPERATORS =
      Set.of(
          "Aggregate",
          "AsOfJoin",
          "Distinct",
          "Except",
          "Filter",
          "Generate",
          "GlobalLimit",
          "Intersect",
          "Join",
          "LateralJoin",
          "LimitAll",
          "LocalLimit",
          "LocalRelation",
          "NearestByJoin",
          "Offset",
          "OneRowRelation",
          "PipeOperator",
          "Pivot",
          "Project",
          "Range",
          "RebalancePartitions",
          "Repartition",
          "RepartitionByExpression",
          "Sample",
          "Sort",
          "SubqueryAlias",
          "Union",
          "UnionLoop",
          "Unpivot",
          "Window",
          "WithWindowDefinition");

  /**
   * Operators that only the parser creates. UnresolvedRelation and table functions are checked by
   * name too.
   */
  private static final Set<String> PARSED_OPERATORS =
      Set.of(
          "UnresolvedHaving",
          "UnresolvedHint",
          "UnresolvedInlineTable",
          "UnresolvedQualify",
          "UnresolvedRelation",
          "UnresolvedSubqueryColumnAliases",
          "UnresolvedTVFAliases",
          "UnresolvedTableValuedFunction",
          "UnresolvedWith");

  /** Operators that only the planner of DataFrames creates. */
  private static final Set<String> FRAME_OPERATORS =
      Stream.concat(
              PARSED_OPERATORS.stream(),
              Stream.of("CollectMetrics", "DataFrameDropColumns", "Tail", "UnresolvedDeduplicate"))
          .collect(Collectors.toUnmodifiableSet());

  /** Expressions that only the planner of DataFrames creates. */
  private static final Set<String> FRAME_EXPRESSIONS =
      Set.of(CATALYST + "analysis.UnresolvedDataFrameStar");

  /** Operators that only the analyzer creates. */
  private static final Set<String> ANALYZED_OPERATORS =
      Set.of(
          "CTERelationDef",
          "CTERelationRef",
          "CollectMetrics",
          "Deduplicate",
          "EmptyRelation",
          "Expand",
          "ResolvedHint",
          "ResolvedInlineTable",
          "UnionLoopRef",
          "View",
          "WithCTE");

  /** Functions of files, partitions and positions. */
  private static final Set<String> FILE_FUNCTIONS =
      Set.of(
          "InputFileName",
          "InputFileBlockStart",
          "InputFileBlockLength",
          "MonotonicallyIncreasingID",
          "SparkPartitionID");

  private final Set<String> functions;
  private final Set<String> tableFunctions;
  private final Set<String> expressions;

  /** Names of functions are in lower case, names of classes of expressions in full. */
  public PlanGuard(Set<String> functions, Set<String> tableFunctions, Set<String> expressions) {
    this.functions = functions;
    this.tableFunctions = tableFunctions;
    this.expressions = expressions;
  }

  /** `relations` are the lower-case names of the statement's relations. */
  public void ensureMayAnalyze(LogicalPlan plan, Set<String> relations) {
    new ParsedVisitor(relations).visit(plan);
  }

  /** Checks an expression by itself, which may read no relation. */
  public void ensureMayAnalyze(Expression expression) {
    new ParsedVisitor(Set.of()).visit(expression);
  }

  /**
   * Checks an expression whose text came without SQL around it, so that no call in it can be one
   * that the gateway writes.
   */
  public void ensureMayAnalyzeText(Expression expression) {
    new ParsedVisitor(Set.of(), null, false).visit(expression);
  }

  /**
   * Checks the plan of a DataFrame of a statement, in which Spark's planner may have analyzed views
   * already.
   */
  public void ensureMayAnalyzeFrame(LogicalPlan plan, Set<String> relations, String statementId) {
    new ParsedVisitor(relations, statementId, false).visit(plan);
  }

  /** Checks the name of a function that a DataFrame calls. */
  public void ensureFunction(String name) {
    if (!functions.contains(lower(name))) throw new RejectionException("function", name);
  }

  /** Checks the name of a table function that a DataFrame calls. */
  public void ensureTableFunction(String name) {
    if (!tableFunctions.contains(lower(name))) throw new RejectionException("table function", name);
  }

  public void ensureMayRun(LogicalPlan plan, String statementId) {
    new AnalyzedVisitor(statementId).visit(plan);
  }

  /**
   * Rejects functions of files and positions, for a query whose reader may not know some of the
   * rows: these functions would reveal their number.
   */
  public void ensureHidesFiles(LogicalPlan plan) {
    new FileFunctionVisitor().visit(plan);
  }

  private final class ParsedVisitor extends TreeVisitor {
    private final Set<String> relations;

    /** Id of the statement whose DataFrame it is; null for a text. */
    private final String frameOf;

    private final boolean mayCallBodies;
    private Set<String> definitions = Set.of();

    ParsedVisitor(Set<String> relations) {
      this(relations, null, true);
    }

    ParsedVisitor(Set<String> relations, String frameOf, boolean mayCallBodies) {
      this.relations = relations;
      this.frameOf = frameOf;
      this.mayCallBodies = mayCallBodies;
    }

    @Override
    public void visit(TreeNode<?> node) {
      if (frameOf != null && node instanceof View) {
        new AnalyzedVisitor(frameOf).visit(node);
        return;
      }
      if (node instanceof LogicalPlan plan)
        ensureOperator(plan, frameOf == null ? PARSED_OPERATORS : FRAME_OPERATORS);
      else if (frameOf == null || !FRAME_EXPRESSIONS.contains(node.getClass().getName()))
        ensureExpression(node);
      if (node instanceof UnresolvedRelation relation) ensureBound(relation);
      if (node instanceof UnresolvedTableValuedFunction function
          && !(mayCallBodies && FunctionBodies.isCall(function)))
        ensureListed(function, function.name(), tableFunctions, "table function");
      if (node instanceof UnresolvedFunction function
          && !(mayCallBodies && FunctionBodies.isCall(function)))
        ensureListed(function, function.nameParts(), functions, "function");
      if (node instanceof UnresolvedGenerator generator)
        ensureListed(generator, generator.name().nameParts(), functions, "function");
      if (node instanceof UnresolvedWith with) visitWith(with);
      else visitFields(node);
    }

    /** A definition may name those before it and itself, the body all of them. */
    private void visitWith(UnresolvedWith with) {
      Set<String> outer = definitions;
      definitions = new HashSet<>(outer);
      for (Tuple3<String, SubqueryAlias, Option<Object>> definition : list(with.cteRelations())) {
        definitions.add(lower(definition._1()));
        visit(definition._2());
      }
      visit(with.child());
      definitions = outer;
    }

    private void ensureBound(UnresolvedRelation relation) {
      List<String> parts = list(relation.multipartIdentifier());
      String name = lower(parts.get(parts.size() - 1));
      boolean isBound =
          parts.size() == 1
              && !relation.isStreaming()
              && (relations.contains(name) || definitions.contains(name));
      if (!isBound) throw new RejectionException("relation", quoted(parts));
    }

    private void ensureListed(
        TreeNode<?> node, Seq<String> nameParts, Set<String> allowed, String kind) {
      List<String> parts = withoutBuiltinSchema(list(nameParts));
      if (parts.size() != 1 || !allowed.contains(lower(parts.get(0))))
        throw new RejectionException(kind, quoted(parts), node.origin());
    }
  }

  /** Returns `abs` for `builtin.abs` and `system.builtin.abs`, which are Spark's own. */
  private static List<String> withoutBuiltinSchema(List<String> parts) {
    int last = parts.size() - 1;
    boolean isQualified = last == 1 || last == 2 && lower(parts.get(0)).equals("system");
    return isQualified && lower(parts.get(last - 1)).equals("builtin")
        ? parts.subList(last, last + 1)
        : parts;
  }

  private final class AnalyzedVisitor extends TreeVisitor {
    private final String statementId;

    AnalyzedVisitor(String statementId) {
      this.statementId = statementId;
    }

    @Override
    public void visit(TreeNode<?> node) {
      if (node instanceof LogicalRelation leaf) {
        if (!isOwnScan(leaf))
          throw new RejectionException("relation", leaf.relation().getClass().getSimpleName());
        return;
      }
      if (node instanceof LogicalPlan plan) ensureOperator(plan, ANALYZED_OPERATORS);
      else ensureExpression(node);
      visitFields(node);
      if (node instanceof Expression expression) ValueSizeLimits.ensureSmall(expression);
    }

    private boolean isOwnScan(LogicalRelation leaf) {
      PythonRowsRelation rows = PythonRowsRelation.of(leaf);
      if (rows != null) return rows.statementId().equals(statementId);
      return leaf.relation() instanceof HadoopFsRelation relation
          && relation.location() instanceof PrunedFileIndex files
          && files.statementId().equals(statementId);
    }
  }

  private static final class FileFunctionVisitor extends TreeVisitor {
    @Override
    public void visit(TreeNode<?> node) {
      if (node instanceof LogicalRelation) return;
      if (node instanceof Expression function && FILE_FUNCTIONS.contains(simpleName(node)))
        throw new RejectionException("place", function.prettyName());
      visitFields(node);
    }
  }

  /** Allows operators of Spark that are in one of the two lists. */
  private static void ensureOperator(LogicalPlan operator, Set<String> ofPhase) {
    String name = simpleName(operator);
    boolean isListed = OPERATORS.contains(name) || ofPhase.contains(name);
    if (!isListed || !operator.getClass().getName().startsWith(CATALYST))
      throw new RejectionException("operator", name);
  }

  private void ensureExpression(TreeNode<?> node) {
    if (!expressions.contains(node.getClass().getName()) || !callsAllowedMethod(node))
      throw new RejectionException("expression", simpleName(node), node.origin());
  }

  /**
   * Two kinds of expressions call a method by its name; Spark's own functions are made of them, and
   * some values that the gateway writes.
   */
  private static boolean callsAllowedMethod(TreeNode<?> node) {
    if (node instanceof StaticInvoke call) return isAllowed(call.staticObject());
    if (!(node instanceof Invoke call)) return true;
    return call.targetObject().dataType() instanceof ObjectType target && isAllowed(target.cls());
  }

  private static boolean isAllowed(Class<?> type) {
    // No text creates calls of these: RowEnforcer adds them above a query.
    if (type == IdentityColumnValues.class || type == SpaceFillingCurve.class) return true;
    return METHODS_OF.stream().anyMatch(type.getName()::startsWith);
  }

  /** Returns the class's name without its package and the dollar sign of Scala's objects. */
  private static String simpleName(TreeNode<?> node) {
    String name = node.getClass().getName();
    String simple = name.substring(name.lastIndexOf('.') + 1);
    return simple.endsWith("$") ? simple.substring(0, simple.length() - 1) : simple;
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  private static String quoted(List<String> parts) {
    return parts.stream()
        .map(part -> part.matches("\\w+") ? part : "`" + part.replace("`", "``") + "`")
        .collect(Collectors.joining("."));
  }
}
