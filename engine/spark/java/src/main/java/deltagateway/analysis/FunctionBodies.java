package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.FilePathMasking;
import deltagateway.guard.SecurityBarrierViews;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.session.GatewaySession;
import deltagateway.session.StatementExecution;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LateralJoin;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.PartialFunction;
import scala.collection.immutable.Seq;

/**
 * Inlines SQL functions that were created under other settings than those of their caller.
 *
 * <p>Such a call names {@link StatementRequest#bodyCall}, with the body as a text
 * (`engine/sql/query/bodies.py`), the relations that the body reads, and the arguments. The body is
 * parsed and analyzed by itself, under the settings of its creation, as Spark does for its SQL
 * functions; the arguments belong to the caller's text. A body without a query becomes an
 * expression over the arguments, any other a scalar subquery over one row of them.
 *
 * <p>A call in FROM is one of a table function, whose body is a query over the row of its
 * arguments. If the caller may not read the relations of the body, it is below a barrier, as the
 * rows of a view are ({@link SecurityBarrierViews}); the barrier of a lateral call, whose arguments
 * are columns of other rows, is above the join with these. Values that such a body makes from paths
 * of files or positions in them are NULL, as in a view ({@link FilePathMasking}).
 */
public final class FunctionBodies {
  /** Prefix of the names of such calls, whose rest no statement knows. */
  private static final String PREFIX = "__body_";

  private static final String ARGUMENT = "__argument ";

  private final StatementExecution statement;
  private final GatewaySession session;
  private final StatementRequest request;
  private boolean hasHidden;

  public FunctionBodies(
      StatementExecution statement, GatewaySession session, StatementRequest request) {
    this.statement = statement;
    this.session = session;
    this.request = request;
  }

  /** Returns true for a call of a body; Spark knows no such function, so one left over fails. */
  public static boolean isCall(UnresolvedFunction function) {
    return isCallName(function.nameParts());
  }

  public static boolean isCall(UnresolvedTableValuedFunction function) {
    return isCallName(function.name());
  }

  private static boolean isCallName(Seq<String> parts) {
    return parts.length() == 1 && parts.head().startsWith(PREFIX);
  }

  /** Returns true if a table function was inlined whose relations the caller may not read. */
  public boolean hasHidden() {
    return hasHidden;
  }

  LogicalPlan inline(LogicalPlan parsed) {
    PartialFunction<Expression, Expression> calls =
        ScalaConversions.rewrite(
            expression ->
                expression instanceof UnresolvedFunction function && isBodyCall(function)
                    ? value(new Call(list(function.arguments())))
                    : expression);
    return parsed.transformUpWithSubqueries(
        ScalaConversions.<LogicalPlan>rewrite(
            node -> inlineTableFunction(node.transformExpressionsUp(calls))));
  }

  private LogicalPlan inlineTableFunction(LogicalPlan plan) throws Exception {
    if (plan instanceof UnresolvedTableValuedFunction function && isBodyCall(function.name()))
      return rows(new Call(list(function.functionArgs())));
    return plan instanceof LateralJoin join ? SecurityBarrierViews.aroundLateral(join) : plan;
  }

  private boolean isBodyCall(UnresolvedFunction function) {
    boolean isPlain =
        !function.isDistinct() && function.filter().isEmpty() && function.ignoreNulls().isEmpty();
    return isPlain && isBodyCall(function.nameParts());
  }

  private boolean isBodyCall(Seq<String> nameParts) {
    return nameParts.length() == 1 && nameParts.head().equals(request.bodyCall);
  }

  private LogicalPlan rows(Call call) {
    LogicalPlan analyzed = analyzed(call);
    boolean isHidden = readsHidden(call);
    hasHidden |= isHidden;
    LogicalPlan masked = isHidden ? FilePathMasking.ofView(analyzed) : analyzed;
    LogicalPlan query = call.withArguments(masked);
    return isHidden ? SecurityBarrierViews.mark(query) : query;
  }

  private Expression value(Call call) {
    LogicalPlan analyzed = analyzed(call);
    // No function is created with any other plan.
    if (!(analyzed instanceof Project) && !(analyzed instanceof WithCTE))
      throw new RejectionException("function", call.body().get("function").textValue());
    if (readsHidden(call) && ColumnLineage.dependsOnFilePaths(analyzed)[0])
      return new Literal(null, analyzed.output().head().dataType());
    LogicalPlan query = call.withArguments(analyzed);
    if (!(analyzed instanceof Project project)) return subquery(query);
    if (SubqueryExpression$.MODULE$.hasSubquery((Expression) project.projectList().head()))
      return subquery(query);
    return overArguments((Project) query);
  }

  private boolean readsHidden(Call call) {
    return call.relations().stream()
        .anyMatch(relation -> request.isHiddenRelation(relation.replace("`", "")));
  }

  private LogicalPlan analyzed(Call call) {
    String text = call.body().get("text").textValue();
    List<String> relations = call.relations();
    for (int i = 0; i < relations.size(); i++)
      text = text.replace("\0" + i + "\0", relations.get(i));
    String body = text;
    SQLConf settings = session.ofServer(StatementRequest.pairs(call.body().get("settings")));
    return SQLConf$.MODULE$.withExistingConf(
        settings, ScalaConversions.function(() -> statement.analyzedBody(body)));
  }

  private static Expression subquery(LogicalPlan query) {
    return ScalarSubquery$.MODULE$.apply(
        query,
        ScalaConversions.emptySeq(),
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.emptySeq(),
        ScalaConversions.none(),
        ScalaConversions.none(),
        ScalaConversions.none());
  }

  /** Returns the body's value, with arguments in place of the columns of the row of arguments. */
  private static Expression overArguments(Project query) {
    Map<ExprId, Expression> values = new HashMap<>();
    LogicalPlan below = query.child();
    while (!(below instanceof OneRowRelation)) {
      if (below instanceof Project project) {
        for (NamedExpression column : list(project.projectList()))
          if (column instanceof Alias alias) values.put(alias.exprId(), alias.child());
      }
      below = below.children().head();
    }
    Expression value = ((Alias) query.projectList().head()).child();
    return value.transformUp(ScalaConversions.<Expression>rewrite(node -> valueOf(node, values)));
  }

  private static Expression valueOf(Expression node, Map<ExprId, Expression> values) {
    Expression value =
        node instanceof AttributeReference column ? values.get(column.exprId()) : null;
    return value == null ? node : valueOf(value, values);
  }

  /** Arguments of a call in the statement's text. */
  private record Call(JsonNode body, List<String> relations, List<Expression> arguments) {
    /** `parts` are the body, its relations and its arguments. */
    Call(List<Expression> parts) throws JsonProcessingException {
      this(parts, StatementRequest.JSON.readTree(decoded(parts.get(0))));
    }

    private Call(List<Expression> parts, JsonNode body) {
      this(
          body,
          parts.subList(1, 1 + body.get("relations").intValue()).stream().map(Call::text).toList(),
          parts.subList(1 + body.get("relations").intValue(), parts.size()));
    }

    private static String decoded(Expression literal) {
      return URLDecoder.decode(text(literal), StandardCharsets.UTF_8);
    }

    private static String text(Expression literal) {
      return ((Literal) literal).value().toString();
    }

    /** Puts the arguments in place of the NULLs of the body, cast as the body casts them. */
    LogicalPlan withArguments(LogicalPlan analyzed) {
      return analyzed.transformUp(
          ScalaConversions.<LogicalPlan>rewrite(
              node ->
                  node instanceof Project project && isOfArguments(project)
                      ? withArguments(project)
                      : node));
    }

    private static boolean isOfArguments(Project project) {
      return project.child() instanceof OneRowRelation
          && project.projectList().head() instanceof Alias first
          && first.name().equals(ARGUMENT + 0);
    }

    private Project withArguments(Project project) {
      List<NamedExpression> columns = new ArrayList<>(list(project.projectList()));
      JsonNode positions = body.get("given"); // of the parameter of each argument
      for (int i = 0; i < arguments.size(); i++) {
        int position = positions.get(i).intValue();
        Alias column = (Alias) columns.get(position);
        Expression cast = column.child().withNewChildren(ScalaConversions.one(arguments.get(i)));
        columns.set(position, (Alias) column.withNewChildren(ScalaConversions.one(cast)));
      }
      return new Project(ScalaConversions.seq(columns), project.child());
    }
  }
}
