package deltagateway.analysis;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.protocol.UnsafeRowBytes;
import deltagateway.session.StatementExecution;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.CreateVariable;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SetVariable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.types.StructType;

/**
 * The values of a DECLARE VARIABLE, a SET VARIABLE or a query: Spark analyzes the command, with its
 * casts and checks; what runs is the query in it, and nothing is assigned here.
 */
public final class VariableAssignment {
  private final StatementExecution statement;
  private final SparkSession spark;
  private final PlanGuard guard;
  private final StatementRequest request;

  public VariableAssignment(
      StatementExecution statement, SparkSession spark, PlanGuard guard, StatementRequest request) {
    this.statement = statement;
    this.spark = spark;
    this.guard = guard;
    this.request = request;
  }

  /**
   * JSON: rows and their type; for a command also its targets (scope and name), and the text of a
   * declared default.
   */
  public String values() throws Exception {
    ObjectNode answer = StatementRequest.JSON.createObjectNode();
    answer.putNull("default");
    LogicalPlan parsed = statement.parsed();
    QueryExecution query;
    if (parsed instanceof CreateVariable) query = declared((CreateVariable) parsed, answer);
    else if (parsed instanceof SetVariable) query = assigned((SetVariable) parsed, answer);
    else query = statement.analyzed();
    query = statement.atItsTime(query);
    StructType type = query.analyzed().schema();
    InternalRow[] rows = collected(query, parsed instanceof SetVariable);
    if (parsed instanceof SetVariable && rows.length == 0) {
      rows = new InternalRow[] {new GenericInternalRow(new Object[type.length()])};
    }
    UnsafeRowBytes.put(answer, type, rows, request.resultBytesMax);
    return StatementRequest.JSON.writeValueAsString(answer);
  }

  /** All rows, or enough of them to know that they are too many. */
  private static InternalRow[] collected(final QueryExecution query, final boolean onlyOne) {
    scala.Function0<InternalRow[]> collect =
        new scala.runtime.AbstractFunction0() {
          public Object apply() {
            return onlyOne
                ? query.executedPlan().executeTake(2)
                : query.executedPlan().executeCollect();
          }
        };
    return SQLExecution$.MODULE$.withNewExecutionId(query, ScalaConversions.none(), collect);
  }

  private QueryExecution declared(CreateVariable parsed, ObjectNode answer) throws Exception {
    List<LogicalPlan> names = ScalaConversions.list(parsed.names());
    for (int i = 0; i < names.size(); i++) {
      if (!(names.get(i) instanceof UnresolvedIdentifier)) {
        throw new RejectionException("operator", names.get(i).getClass().getSimpleName());
      }
    }
    guard.ensureMayAnalyze(parsed.defaultExpr().child());
    CreateVariable declared = (CreateVariable) statement.analyzed(parsed).analyzed();
    ArrayNode targets = answer.putArray("targets");
    List<LogicalPlan> resolved = ScalaConversions.list(declared.names());
    for (int i = 0; i < resolved.size(); i++)
      add(targets, ((ResolvedIdentifier) resolved.get(i)).identifier());
    answer.put("default", declared.defaultExpr().originalSQL());
    return valueOf(declared.defaultExpr().child());
  }

  private QueryExecution valueOf(Expression expression) {
    scala.collection.immutable.Seq nothing = ScalaConversions.seq(Collections.emptyList());
    List oneRow = Collections.singletonList(InternalRow.empty());
    LogicalPlan row =
        new LocalRelation(nothing, ScalaConversions.seq(oneRow), false, ScalaConversions.none());
    Alias value =
        new Alias(
            expression,
            "value",
            NamedExpression$.MODULE$.newExprId(),
            nothing,
            ScalaConversions.none(),
            nothing);
    LogicalPlan query = new Project(ScalaConversions.seq(Collections.singletonList(value)), row);
    QueryExecution execution = statement.planned(query);
    execution.assertAnalyzed();
    return statement.guarded(execution, execution.analyzed());
  }

  private QueryExecution assigned(SetVariable parsed, ObjectNode answer) throws Exception {
    List<Expression> named = ScalaConversions.list(parsed.targetVariables());
    for (int i = 0; i < named.size(); i++) guard.ensureMayAnalyze(named.get(i));
    guard.ensureMayAnalyze(parsed.sourceQuery(), request.relations());
    QueryExecution execution = statement.analyzed(parsed);
    SetVariable assigned = (SetVariable) execution.analyzed();
    ArrayNode targets = answer.putArray("targets");
    List<Expression> resolved = ScalaConversions.list(assigned.targetVariables());
    for (int i = 0; i < resolved.size(); i++)
      add(targets, ((VariableReference) resolved.get(i)).identifier());
    return statement.guarded(execution, assigned.sourceQuery());
  }

  private static void add(ArrayNode targets, Identifier identifier) {
    String[] namespace = identifier.namespace();
    targets.addArray().add(namespace[namespace.length - 1]).add(identifier.name());
  }
}
