package deltagateway.analysis;

import static deltagateway.internals.ScalaConversions.seq;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.protocol.UnsafeRowBytes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.SqlScriptingContextManager$;
import org.apache.spark.sql.catalyst.analysis.FakeLocalCatalog$;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.SqlScriptingContextManager;
import org.apache.spark.sql.catalyst.catalog.SqlScriptingExecutionContextExtension;
import org.apache.spark.sql.catalyst.catalog.TempVariableManager;
import org.apache.spark.sql.catalyst.catalog.VariableDefinition;
import org.apache.spark.sql.catalyst.catalog.VariableManager;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import scala.Function0;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Seq;

/**
 * Variables that one statement may read. Spark resolves their names (columns before variables, the
 * variables of a script before those of the session), but stores no variable between statements:
 * they are part of the request, and exist while Spark analyzes it.
 *
 * <p>Spark looks up a session's variables in its catalog manager, and those of a script in a
 * thread-local context.
 */
public final class SessionVariables {
  private static final String SESSION = "session";

  private final List<VariableDefinition> session = new ArrayList<>();
  private final List<Scope> scopes = new ArrayList<>();

  /** `node` has the session's variables and the scopes of a script, the innermost last. */
  public SessionVariables(JsonNode node) {
    for (JsonNode variable : node.get("session")) session.add(definition(SESSION, variable));
    for (JsonNode scope : node.get("scopes")) scopes.add(new Scope(scope));
  }

  private boolean isEmpty() {
    return session.isEmpty() && scopes.isEmpty();
  }

  /**
   * Runs `work` while Spark finds the variables. Statements of one session wait for each other
   * here, because it has one place for variables.
   */
  public <T> T during(SparkSession spark, Function0<T> work) {
    if (isEmpty()) return work.apply();
    TempVariableManager variables = spark.sessionState().catalogManager().tempVariableManager();
    synchronized (variables) {
      try {
        for (VariableDefinition definition : session) {
          String name = definition.identifier().name();
          variables.create(seq(List.of(SESSION, name)), definition, true);
        }
        if (scopes.isEmpty()) return work.apply();
        return SqlScriptingContextManager$.MODULE$.create(new Script(new Locals())).runWith(work);
      } finally {
        variables.clear();
      }
    }
  }

  /** Returns the names of all variables that an analyzed plan reads. */
  public static ArrayNode readBy(LogicalPlan analyzed) {
    ArrayNode names = StatementRequest.JSON.createArrayNode();
    analyzed.transformAllExpressionsWithSubqueries(
        ScalaConversions.<Expression>rewrite(
            expression -> {
              if (expression instanceof VariableReference variable)
                names.add(variable.identifier().name());
              return expression;
            }));
    return names;
  }

  private static VariableDefinition definition(String qualifier, JsonNode node) {
    Identifier identifier = Identifier.of(new String[] {qualifier}, node.get("name").textValue());
    return new VariableDefinition(
        identifier, node.get("default").textValue(), UnsafeRowBytes.literal(node.get("value")));
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  /** Variables of a compound statement with a label. */
  private record Scope(String label, Map<String, VariableDefinition> variables) {
    Scope(JsonNode node) {
      this(node.get("label").textValue(), new HashMap<>());
      for (JsonNode variable : node.get("variables")) {
        VariableDefinition definition = definition(label, variable);
        variables.put(definition.identifier().name(), definition);
      }
    }
  }

  /** Variables of a script, which Spark looks up as `x` or `label.x`; it sets none. */
  private final class Locals implements VariableManager {
    @Override
    public Option<VariableDefinition> get(Seq<String> nameParts) {
      String name = lower(nameParts.last());
      for (int i = scopes.size() - 1; i >= 0; i--) {
        Scope scope = scopes.get(i);
        boolean isMeant =
            nameParts.size() == 1
                || nameParts.size() == 2 && scope.label().equals(lower(nameParts.head()));
        if (isMeant && scope.variables().containsKey(name))
          return new Some<>(scope.variables().get(name));
      }
      return ScalaConversions.none();
    }

    /** Returns the identifier of a variable that DECLARE creates. */
    @Override
    public ResolvedIdentifier qualify(String name) {
      String label = scopes.get(scopes.size() - 1).label();
      return new ResolvedIdentifier(
          FakeLocalCatalog$.MODULE$,
          Identifier.of(new String[] {label}, name),
          ScalaConversions.emptySeq());
    }

    @Override
    public boolean isEmpty() {
      return false;
    }

    @Override
    public String getVariableNameForError(String name) {
      return "`" + name + "`";
    }

    @Override
    public void create(Seq<String> nameParts, VariableDefinition variable, boolean override) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void set(Seq<String> nameParts, VariableDefinition variable, Origin origin) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean remove(Seq<String> nameParts) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void clear() {
      throw new UnsupportedOperationException();
    }
  }

  private record Script(VariableManager variables) implements SqlScriptingContextManager {
    /** Returns the context of Spark's own interpreter of scripts, which does not run here. */
    @Override
    public SqlScriptingExecutionContextExtension getContext() {
      return null;
    }

    @Override
    public Option<VariableManager> getVariableManager() {
      return new Some<>(variables);
    }
  }
}
