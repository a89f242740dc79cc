package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.PlanNodes;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.protocol.UnsafeRowBytes;
import deltagateway.session.StatementExecution;
import deltagateway.session.SubqueryFailures;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.CreateVariable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SetVariable;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructType;
import scala.Function0;

/**
 * Values of a DECLARE VARIABLE, a SET VARIABLE or a query. Spark analyzes the command, with its
 * casts and checks; the query in it runs, and nothing is assigned here.
 */
public final class VariableAssignment {
  private final StatementExecution statement;
  private final PlanGuard guard;
  private final StatementRequest request;

  public VariableAssignment(
      StatementExecution statement, PlanGuard guard, StatementRequest request) {
    this.statement = statement;
    this.guard = guard;
    this.request = request;
  }

  /**
   * Returns JSON: rows and their type; for a command also its targets (scope and name), and the
   * text of a declared default.
   */
  public String values() throws Exception {
    ObjectNode answer = StatementRequest.JSON.createObjectNode();
    answer.putNull("default");
    LogicalPlan parsed = statement.parsed();
    boolean isSet = parsed instanceof SetVariable;
    QueryExecution analyzed;
    if (parsed instanceof CreateVariable command) analyzed = declaredDefault(command, answer);
    else if (parsed instanceof SetVariable command) analyzed = assignedQuery(command, answer);
    else analyzed = statement.analyzed();
    QueryExecution query = statement.atItsTime(analyzed);
    StructType type = query.analyzed().schema();
    InternalRow[] rows = collect(query, isSet);
    if (isSet && rows.length == 0)
      rows = new InternalRow[] {new GenericInternalRow(new Object[type.length()])};
    UnsafeRowBytes.put(answer, type, rows, request.resultBytesMax);
    return StatementRequest.JSON.writeValueAsString(answer);
  }

  /** Returns all rows; with `onlyOne` at most two, which are too many. */
  private static InternalRow[] collect(QueryExecution query, boolean onlyOne) throws Exception {
    Function0<InternalRow[]> collect =
        () -> onlyOne ? query.executedPlan().executeTake(2) : query.executedPlan().executeCollect();
    return SubqueryFailures.execute(query, collect);
  }

  private QueryExecution declaredDefault(CreateVariable command, ObjectNode answer)
      throws Exception {
    for (LogicalPlan name : list(command.names())) {
      if (!(name instanceof UnresolvedIdentifier))
        throw new RejectionException("operator", name.getClass().getSimpleName());
    }
    guard.ensureMayAnalyze(command.defaultExpr().child());
    CreateVariable declared = (CreateVariable) statement.analyzed(command).analyzed();
    ArrayNode targets = answer.putArray("targets");
    for (LogicalPlan name : list(declared.names()))
      addTarget(targets, ((ResolvedIdentifier) name).identifier());
    answer.put("default", declared.defaultExpr().originalSQL());
    Alias value = PlanNodes.alias(declared.defaultExpr().child(), "value");
    QueryExecution execution =
        statement.planned(new Project(ScalaConversions.one(value), PlanNodes.oneRow()));
    execution.assertAnalyzed();
    return statement.guarded(execution, execution.analyzed());
  }

  private QueryExecution assignedQuery(SetVariable command, ObjectNode answer) throws Exception {
    for (Expression target : list(command.targetVariables())) guard.ensureMayAnalyze(target);
    guard.ensureMayAnalyze(command.sourceQuery(), request.relations());
    QueryExecution execution = statement.analyzed(command);
    SetVariable assigned = (SetVariable) execution.analyzed();
    ArrayNode targets = answer.putArray("targets");
    for (Expression target : list(assigned.targetVariables()))
      addTarget(targets, ((VariableReference) target).identifier());
    return statement.guarded(execution, assigned.sourceQuery());
  }

  private static void addTarget(ArrayNode targets, Identifier identifier) {
    String[] namespace = identifier.namespace();
    targets.addArray().add(namespace[namespace.length - 1]).add(identifier.name());
  }
}
