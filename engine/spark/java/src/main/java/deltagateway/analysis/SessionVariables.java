package deltagateway.analysis;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.protocol.UnsafeRowBytes;
import java.util.ArrayList;
import java.util.Collections;
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
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * The variables that one statement sees. Spark resolves the names, as it does by itself (columns
 * before variables, the variables of a script before those of the session), but holds no variable
 * between statements: they come with the request, and are there while Spark analyzes it.
 *
 * <p>Spark looks for a session's variables in the session, and for those of a script in a place of
 * the thread.
 */
public final class SessionVariables {
  private static final String SESSION = "session";

  private final List<VariableDefinition> session = new ArrayList<>();
  private final List<Scope> scopes = new ArrayList<>();

  /** `scopes` are those of a script, the innermost last. */
  public SessionVariables(JsonNode node) {
    JsonNode listed = node.get("session");
    for (int i = 0; i < listed.size(); i++) session.add(definition(SESSION, listed.get(i)));
    JsonNode nested = node.get("scopes");
    for (int i = 0; i < nested.size(); i++) scopes.add(new Scope(nested.get(i)));
  }

  boolean isEmpty() {
    return session.isEmpty() && scopes.isEmpty();
  }

  /**
   * Runs `work` while Spark finds the variables. Statements of one session take turns here: it has
   * one place for them.
   */
  public Object during(SparkSession spark, scala.Function0<?> work) {
    if (isEmpty()) return work.apply();
    TempVariableManager variables = spark.sessionState().catalogManager().tempVariableManager();
    synchronized (variables) {
      try {
        for (int i = 0; i < session.size(); i++) {
          VariableDefinition definition = session.get(i);
          variables.create(parts(SESSION, definition.identifier().name()), definition, true);
        }
        if (scopes.isEmpty()) return work.apply();
        return SqlScriptingContextManager$.MODULE$.create(new Script(new Locals())).runWith(work);
      } finally {
        variables.clear();
      }
    }
  }

  /** The names of all variables that an analyzed plan reads. */
  public static ArrayNode readBy(LogicalPlan analyzed) {
    final ArrayNode names = StatementRequest.JSON.createArrayNode();
    analyzed.transformAllExpressionsWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return node instanceof VariableReference;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            names.add(((VariableReference) node).identifier().name());
            return node;
          }
        });
    return names;
  }

  private static VariableDefinition definition(String qualifier, JsonNode node) {
    Identifier identifier = Identifier.of(new String[] {qualifier}, node.get("name").textValue());
    return new VariableDefinition(
        identifier, node.get("default").textValue(), UnsafeRowBytes.literal(node.get("value")));
  }

  private static scala.collection.immutable.Seq<String> parts(String qualifier, String name) {
    List<String> parts = new ArrayList<>();
    parts.add(qualifier);
    parts.add(name);
    return ScalaConversions.seq(parts);
  }

  private static final class Scope {
    final String label;
    final Map<String, VariableDefinition> variables = new HashMap<>();

    Scope(JsonNode node) {
      label = node.get("label").textValue();
      JsonNode listed = node.get("variables");
      for (int i = 0; i < listed.size(); i++) {
        VariableDefinition variable = definition(label, listed.get(i));
        variables.put(variable.identifier().name(), variable);
      }
    }
  }

  /**
   * The variables of a script, as Spark asks for them: `x`, or `label.x`. Values are set elsewhere.
   */
  private final class Locals implements VariableManager {
    public scala.Option<VariableDefinition> get(scala.collection.immutable.Seq<String> nameParts) {
      List<?> parts = ScalaConversions.list(nameParts);
      String name = lower(parts.get(parts.size() - 1));
      for (int i = scopes.size() - 1; i >= 0; i--) {
        Scope scope = scopes.get(i);
        boolean meant =
            parts.size() == 1 || (parts.size() == 2 && scope.label.equals(lower(parts.get(0))));
        if (meant && scope.variables.containsKey(name))
          return new scala.Some<>(scope.variables.get(name));
      }
      return ScalaConversions.none();
    }

    /** Where DECLARE puts a variable. */
    public ResolvedIdentifier qualify(String name) {
      String label = scopes.get(scopes.size() - 1).label;
      Identifier identifier = Identifier.of(new String[] {label}, name);
      return new ResolvedIdentifier(
          FakeLocalCatalog$.MODULE$, identifier, ScalaConversions.seq(Collections.emptyList()));
    }

    public boolean isEmpty() {
      return false;
    }

    public String getVariableNameForError(String name) {
      return "`" + name + "`";
    }

    public void create(
        scala.collection.immutable.Seq<String> nameParts,
        VariableDefinition variable,
        boolean override) {
      throw new UnsupportedOperationException();
    }

    public void set(
        scala.collection.immutable.Seq<String> nameParts,
        VariableDefinition variable,
        Origin origin) {
      throw new UnsupportedOperationException();
    }

    public boolean remove(scala.collection.immutable.Seq<String> nameParts) {
      throw new UnsupportedOperationException();
    }

    public void clear() {
      throw new UnsupportedOperationException();
    }

    private String lower(Object part) {
      return ((String) part).toLowerCase(Locale.ROOT);
    }
  }

  private static final class Script implements SqlScriptingContextManager {
    private final VariableManager variables;

    Script(VariableManager variables) {
      this.variables = variables;
    }

    /** Of Spark's own interpreter, which does not run here. */
    public SqlScriptingExecutionContextExtension getContext() {
      return null;
    }

    public scala.Option<VariableManager> getVariableManager() {
      return new scala.Some<>(variables);
    }
  }
}
