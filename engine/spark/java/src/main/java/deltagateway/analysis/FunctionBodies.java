package deltagateway.analysis;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.FilePathMasking;
import deltagateway.guard.SecurityBarrierViews;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.session.GatewaySession;
import deltagateway.session.StatementExecution;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
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
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.unsafe.Platform;

/**
 * Bodies of SQL functions that were created under other settings than those in force where they are
 * called.
 *
 * <p>Such a call names {@link StatementRequest#bodyCall}, with the body as a text
 * (`engine/sql/query/bodies.py`), the relations that the body reads, and the arguments. The body is
 * parsed and analyzed by itself, under the settings of its creation, as Spark does for its SQL
 * functions; the arguments belong to the caller's text. A body without a query becomes an
 * expression over the arguments, any other a scalar subquery over one row of them.
 *
 * <p>A call in FROM is one of a table function, whose body is a query over the row of its
 * arguments. Where the caller may not read what the body reads, it is below a barrier, as the rows
 * of a view are ({@link SecurityBarrierViews}); of a lateral call, whose arguments are columns of
 * other rows, the barrier is above the join with these. What such a body makes of names of files,
 * or of places in them, is NULL, as in a view ({@link FilePathMasking}).
 */
public final class FunctionBodies extends scala.runtime.AbstractPartialFunction {
  /** Begins the names of such calls, whose rest no statement knows. */
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

  /** Whether Spark knows no such function: it fails unless a body takes its place. */
  public static boolean isCall(UnresolvedFunction function) {
    return isName(function.nameParts());
  }

  public static boolean isCall(UnresolvedTableValuedFunction function) {
    return isName(function.name());
  }

  private static boolean isName(scala.collection.immutable.Seq<String> parts) {
    return parts.length() == 1 && parts.apply(0).startsWith(PREFIX);
  }

  /** Whether a table function was called that hides what it reads. */
  public boolean hasHidden() {
    return hasHidden;
  }

  LogicalPlan placedIn(LogicalPlan parsed) {
    final FunctionBodies bodies = this;
    return parsed.transformUpWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object plan) {
            return true;
          }

          public Object applyOrElse(Object plan, scala.Function1 otherwise) {
            return bodies.placedAt(((LogicalPlan) plan).transformExpressionsUp(bodies));
          }
        });
  }

  private LogicalPlan placedAt(LogicalPlan plan) {
    try {
      if (isTableCall(plan))
        return rows(ScalaConversions.list(((UnresolvedTableValuedFunction) plan).functionArgs()));
      return plan instanceof LateralJoin
          ? SecurityBarrierViews.aroundLateral((LateralJoin) plan)
          : plan;
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  private boolean isTableCall(LogicalPlan plan) {
    if (!(plan instanceof UnresolvedTableValuedFunction)) return false;
    scala.collection.immutable.Seq<String> parts = ((UnresolvedTableValuedFunction) plan).name();
    return parts.length() == 1 && parts.apply(0).equals(request.bodyCall);
  }

  private LogicalPlan rows(List<Expression> parts) throws Exception {
    JsonNode body = body(parts);
    LogicalPlan analyzed = analyzed(parts, body);
    boolean hides = readsHidden(parts, body);
    hasHidden |= hides;
    LogicalPlan shown = hides ? FilePathMasking.ofView(analyzed) : analyzed;
    LogicalPlan query = shown.transformUp(given(parts, body));
    return hides ? SecurityBarrierViews.marked(query) : query;
  }

  public boolean isDefinedAt(Object node) {
    if (!(node instanceof UnresolvedFunction)) return false;
    UnresolvedFunction function = (UnresolvedFunction) node;
    boolean isPlain =
        !function.isDistinct()
            && function.filter().isEmpty()
            && !function.ignoreNulls().isDefined();
    return isPlain
        && function.nameParts().length() == 1
        && function.nameParts().apply(0).equals(request.bodyCall);
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    try {
      return inPlaceOf(ScalaConversions.list(((UnresolvedFunction) node).arguments()));
    } catch (Exception failure) {
      Platform.throwException(failure);
      return null;
    }
  }

  private Expression inPlaceOf(List<Expression> parts) throws Exception {
    JsonNode body = body(parts);
    LogicalPlan analyzed = analyzed(parts, body);
    if (!(analyzed instanceof Project)
        && !(analyzed instanceof WithCTE)) { // which no function is created with
      throw new RejectionException("function", body.get("function").textValue());
    }
    if (readsHidden(parts, body) && ColumnLineage.places(analyzed)[0]) {
      return new Literal(null, analyzed.output().apply(0).dataType());
    }
    LogicalPlan query = analyzed.transformUp(given(parts, body));
    if (analyzed instanceof WithCTE) return subquery(query);
    Expression value = (Expression) ((Project) analyzed).projectList().apply(0);
    if (SubqueryExpression$.MODULE$.hasSubquery(value)) return subquery(query);
    return ((Alias) ((Project) query).projectList().apply(0))
        .child()
        .transformUp(new Values(query));
  }

  private static JsonNode body(List<Expression> parts) throws Exception {
    return StatementRequest.JSON.readTree(URLDecoder.decode(text(parts.get(0)), "UTF-8"));
  }

  private static GivenArguments given(List<Expression> parts, JsonNode body) {
    return new GivenArguments(
        parts.subList(1 + body.get("relations").intValue(), parts.size()), body.get("given"));
  }

  private boolean readsHidden(List<Expression> parts, JsonNode body) {
    int relations = body.get("relations").intValue();
    for (int i = 0; i < relations; i++) {
      if (request.isHiddenRelation(text(parts.get(1 + i)).replace("`", ""))) return true;
    }
    return false;
  }

  private LogicalPlan analyzed(List<Expression> parts, JsonNode body) {
    String text = body.get("text").textValue();
    int relations = body.get("relations").intValue();
    for (int i = 0; i < relations; i++)
      text = text.replace("\0" + i + "\0", text(parts.get(1 + i)));
    return analyzed(text, StatementRequest.pairs(body.get("settings")));
  }

  private LogicalPlan analyzed(final String text, Map<String, String> settings) {
    return (LogicalPlan)
        SQLConf$.MODULE$.withExistingConf(
            session.ofServer(settings),
            new scala.runtime.AbstractFunction0() {
              public Object apply() {
                try {
                  return statement.analyzedBody(text);
                } catch (Exception failure) {
                  Platform.throwException(failure);
                  return null;
                }
              }
            });
  }

  private static Expression subquery(LogicalPlan query) {
    scala.collection.immutable.Seq<Expression> nothing = ScalaConversions.seq(new ArrayList<>());
    return ScalarSubquery$.MODULE$.apply(
        query,
        nothing,
        NamedExpression$.MODULE$.newExprId(),
        nothing,
        ScalaConversions.none(),
        ScalaConversions.none(),
        ScalaConversions.none());
  }

  private static String text(Object literal) {
    return ((Literal) literal).value().toString();
  }

  /** The arguments in the places of the nulls that stood for them, cast as the body casts them. */
  private static final class GivenArguments extends scala.runtime.AbstractPartialFunction {
    private final List<Expression> given;

    /** The number of the parameter that each is for. */
    private final JsonNode places;

    GivenArguments(List<Expression> given, JsonNode places) {
      this.given = given;
      this.places = places;
    }

    public boolean isDefinedAt(Object node) {
      if (!(node instanceof Project) || !(((Project) node).child() instanceof OneRowRelation))
        return false;
      Object first = ((Project) node).projectList().apply(0);
      return first instanceof Alias && ((Alias) first).name().equals(ARGUMENT + 0);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      List columns = new ArrayList<>(ScalaConversions.list(((Project) node).projectList()));
      for (int i = 0; i < given.size(); i++) {
        int place = places.get(i).intValue();
        Alias column = (Alias) columns.get(place);
        Expression cast = column.child().withNewChildren(one(given.get(i)));
        columns.set(place, column.withNewChildren(one(cast)));
      }
      return new Project(ScalaConversions.seq(columns), ((Project) node).child());
    }

    private static scala.collection.immutable.Seq one(Object child) {
      return ScalaConversions.seq(Arrays.asList(child));
    }
  }

  /** What the columns of the row of arguments are, below the body. */
  private static final class Values extends scala.runtime.AbstractPartialFunction {
    private final Map<ExprId, Expression> values = new HashMap<>();

    Values(LogicalPlan query) {
      LogicalPlan below = query.children().apply(0);
      while (!(below instanceof OneRowRelation)) {
        if (below instanceof Project) {
          for (Iterator<NamedExpression> all =
                  ScalaConversions.list(((Project) below).projectList()).iterator();
              all.hasNext(); ) {
            NamedExpression column = all.next();
            if (column instanceof Alias)
              values.put(((Alias) column).exprId(), ((Alias) column).child());
          }
        }
        below = below.children().apply(0);
      }
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference
          && values.containsKey(((AttributeReference) node).exprId());
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      Expression value = values.get(((AttributeReference) node).exprId());
      return isDefinedAt(value) ? applyOrElse(value, otherwise) : value;
    }
  }
}
