package deltagateway.guard;

import deltagateway.analysis.FunctionBodies;
import deltagateway.internals.ScalaConversions;
import deltagateway.internals.TreeVisitor;
import deltagateway.protocol.RejectionException;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.PythonRowsRelation;
import deltagateway.write.IdentityColumnValues;
import deltagateway.write.clustering.SpaceFillingCurve;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;

/**
 * Decides, fail closed, whether Spark may analyze a parsed plan and whether it may run an analyzed
 * one.
 *
 * <p>Analysis alone can open files (a relation named by a path runs a job to infer its schema), so
 * the parsed plan is checked first: only operators and expressions of a list, only relations that
 * the statement bound or a CTE in scope, only functions of a list. After analysis every leaf must
 * be this statement's own scan or a literal source.
 *
 * <p>Both walks follow everything a node holds, not only its children: subqueries are in
 * expressions, CTE definitions in tuples, named windows in maps.
 */
public final class PlanGuard {
  private static final String CATALYST = "org.apache.spark.sql.catalyst.";

  /** The classes of the methods that Spark's own functions call by name. */
  private static final String[] METHODS_OF = {
    CATALYST, "org.apache.spark.unsafe.", "deltagateway."
  };

  /** Operators that a query may hold before and after analysis. */
  private static final String[] OPERATORS = {
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
    "WithWindowDefinition",
  };

  /**
   * Operators that only the parser makes. UnresolvedRelation and the table functions are checked by
   * name besides.
   */
  private static final String[] PARSED_OPERATORS = {
    "UnresolvedHaving",
    "UnresolvedHint",
    "UnresolvedInlineTable",
    "UnresolvedQualify",
    "UnresolvedRelation",
    "UnresolvedSubqueryColumnAliases",
    "UnresolvedTVFAliases",
    "UnresolvedTableValuedFunction",
    "UnresolvedWith",
  };

  /** Operators that only the analyzer makes. */
  private static final String[] ANALYZED_OPERATORS = {
    "CTERelationDef",
    "CTERelationRef",
    "Deduplicate",
    "EmptyRelation",
    "Expand",
    "ResolvedHint",
    "ResolvedInlineTable",
    "UnionLoopRef",
    "View",
    "WithCTE",
  };

  private static final Set<String> PLACES =
      set(
          new String[] {
            "InputFileName",
            "InputFileBlockStart",
            "InputFileBlockLength",
            "MonotonicallyIncreasingID",
            "SparkPartitionID"
          });
  private static final Set<String> PARSED = union(OPERATORS, PARSED_OPERATORS);
  private static final Set<String> ANALYZED = union(OPERATORS, ANALYZED_OPERATORS);

  private final Set<String> functions;
  private final Set<String> tableFunctions;
  private final Set<String> expressions;

  /** Names of functions in lower case, names of classes of expressions in full. */
  public PlanGuard(Set<String> functions, Set<String> tableFunctions, Set<String> expressions) {
    this.functions = functions;
    this.tableFunctions = tableFunctions;
    this.expressions = expressions;
  }

  private static Set<String> set(String[] names) {
    return new HashSet<>(Arrays.asList(names));
  }

  private static Set<String> union(String[] left, String[] right) {
    Set<String> all = set(left);
    all.addAll(set(right));
    return all;
  }

  /** `relations` are the lower-case names of the statement's scans. */
  public void ensureMayAnalyze(LogicalPlan plan, Set<String> relations) {
    new ParsedWalk(relations).visit(plan);
  }

  /** An expression by itself, which reads nothing. */
  public void ensureMayAnalyze(Expression expression) {
    new ParsedWalk(new HashSet<>()).visit(expression);
  }

  public void ensureMayRun(LogicalPlan plan, String statementId) {
    new AnalyzedWalk(statementId).visit(plan);
  }

  /**
   * For a query over rows some of which it may not know of: no function says where those are that
   * it gets.
   */
  public void ensureTellsNoPlaces(LogicalPlan plan) {
    new PlaceWalk().visit(plan);
  }

  private final class ParsedWalk extends TreeVisitor {
    private final Set<String> relations;
    private Set ctes = new HashSet<>();

    ParsedWalk(Set<String> relations) {
      this.relations = relations;
    }

    public void visit(TreeNode<?> node) {
      if (node instanceof LogicalPlan) {
        ensureOperator(node, PARSED);
        if (node instanceof UnresolvedRelation) ensureBound((UnresolvedRelation) node);
        if (node instanceof UnresolvedTableValuedFunction
            && !FunctionBodies.isCall((UnresolvedTableValuedFunction) node)) {
          ensureListed(
              node,
              ((UnresolvedTableValuedFunction) node).name(),
              tableFunctions,
              "table function");
        }
        if (node instanceof UnresolvedWith) {
          visitWith((UnresolvedWith) node);
          return;
        }
      } else {
        ensureExpression(node);
        if (node instanceof UnresolvedFunction
            && !FunctionBodies.isCall((UnresolvedFunction) node)) {
          ensureListed(node, ((UnresolvedFunction) node).nameParts(), functions, "function");
        }
        if (node instanceof UnresolvedGenerator) {
          ensureListed(
              node, ((UnresolvedGenerator) node).name().nameParts(), functions, "function");
        }
      }
      visitFields(node);
    }

    /** A definition sees those before it and itself, the body sees all of them. */
    private void visitWith(UnresolvedWith with) {
      Set outer = ctes;
      ctes = new HashSet<>(outer);
      scala.collection.Iterator definitions = with.cteRelations().iterator();
      while (definitions.hasNext()) {
        scala.Tuple3 definition = (scala.Tuple3) definitions.next();
        ctes.add(lower((String) definition._1()));
        visit((TreeNode) definition._2());
      }
      visit(with.child());
      ctes = outer;
    }

    private void ensureBound(UnresolvedRelation relation) {
      List<String> parts = ScalaConversions.list(relation.multipartIdentifier());
      String name = lower(parts.get(parts.size() - 1));
      boolean bound =
          parts.size() == 1
              && !relation.isStreaming()
              && (relations.contains(name) || ctes.contains(name));
      if (!bound) throw new RejectionException("relation", dotted(parts));
    }

    private void ensureListed(
        TreeNode<?> node,
        scala.collection.immutable.Seq<String> nameParts,
        Set<String> listed,
        String kind) {
      List<String> parts = withoutSchemaOfBuiltins(ScalaConversions.list(nameParts));
      if (parts.size() != 1 || !listed.contains(lower(parts.get(0)))) {
        throw new RejectionException(kind, dotted(parts), node.origin());
      }
    }
  }

  /** `builtin.abs` and `system.builtin.abs` are Spark's own abs. */
  private static List<String> withoutSchemaOfBuiltins(List<String> parts) {
    int last = parts.size() - 1;
    boolean builtin = last == 1 || (last == 2 && lower(parts.get(0)).equals("system"));
    return builtin && lower(parts.get(last - 1)).equals("builtin")
        ? parts.subList(last, last + 1)
        : parts;
  }

  private final class AnalyzedWalk extends TreeVisitor {
    private final String statementId;

    AnalyzedWalk(String statementId) {
      this.statementId = statementId;
    }

    public void visit(TreeNode<?> node) {
      if (node instanceof LogicalRelation) {
        ensureOwnScan((LogicalRelation) node);
        return;
      }
      if (node instanceof LogicalPlan) ensureOperator(node, ANALYZED);
      else ensureExpression(node);
      visitFields(node);
      if (node instanceof Expression) ValueSizeLimits.ensureSmall((Expression) node);
    }

    private void ensureOwnScan(LogicalRelation leaf) {
      PythonRowsRelation given = PythonRowsRelation.of(leaf);
      if (given != null && given.statementId().equals(statementId)) return;
      if (leaf.relation() instanceof HadoopFsRelation) {
        FileIndex index = ((HadoopFsRelation) leaf.relation()).location();
        if (index instanceof PrunedFileIndex
            && ((PrunedFileIndex) index).statementId().equals(statementId)) return;
      }
      throw new RejectionException("relation", leaf.relation().getClass().getSimpleName());
    }
  }

  private static final class PlaceWalk extends TreeVisitor {
    public void visit(TreeNode<?> node) {
      if (node instanceof LogicalRelation) return;
      if (PLACES.contains(simpleName(node.getClass())))
        throw new RejectionException("place", ((Expression) node).prettyName());
      visitFields(node);
    }
  }

  private static void ensureOperator(TreeNode<?> node, Set<String> allowed) {
    Class<?> type = node.getClass();
    if (!type.getName().startsWith(CATALYST) || !allowed.contains(simpleName(type))) {
      throw new RejectionException("operator", simpleName(type));
    }
  }

  private void ensureExpression(TreeNode<?> node) {
    if (!expressions.contains(node.getClass().getName()) || !callsSpark(node)) {
      throw new RejectionException("expression", simpleName(node.getClass()), node.origin());
    }
  }

  /**
   * Two expressions call a method by its name; Spark's own functions are made of them, and values
   * of ours in writes.
   */
  private static boolean callsSpark(TreeNode<?> node) {
    if (node instanceof StaticInvoke) return isOfSpark(((StaticInvoke) node).staticObject());
    if (!(node instanceof Invoke)) return true;
    DataType target = ((Invoke) node).targetObject().dataType();
    return target instanceof ObjectType && isOfSpark(((ObjectType) target).cls());
  }

  private static boolean isOfSpark(Class<?> type) {
    // No text makes one of these: RowEnforcer puts them above a query.
    if (type == IdentityColumnValues.class || type == SpaceFillingCurve.class) return true;
    for (int i = 0; i < METHODS_OF.length; i++) {
      if (type.getName().startsWith(METHODS_OF[i])) return true;
    }
    return false;
  }

  /** Scala's objects end in a dollar sign. */
  private static String simpleName(Class<?> type) {
    String name = type.getName();
    String simple = name.substring(name.lastIndexOf('.') + 1);
    return simple.endsWith("$") ? simple.substring(0, simple.length() - 1) : simple;
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  private static String dotted(List<String> parts) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < parts.size(); i++) {
      if (i > 0) text.append('.');
      String part = parts.get(i);
      text.append(part.matches("[A-Za-z0-9_]+") ? part : "`" + part.replace("`", "``") + "`");
    }
    return text.toString();
  }
}
