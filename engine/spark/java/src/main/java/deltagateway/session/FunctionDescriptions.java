package deltagateway.session;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistryBase;
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.util.SQLKeywordUtils;

/** Descriptions of Spark's functions and keywords, for editors. */
final class FunctionDescriptions {
  private FunctionDescriptions() {}

  /**
   * Returns JSON: each built-in function with its documentation, and the keywords of the grammar.
   */
  static String json() throws JsonProcessingException {
    ObjectNode node = StatementRequest.JSON.createObjectNode();
    ArrayNode functions = node.putArray("functions");
    add(functions, FunctionRegistry.builtin(), false);
    add(functions, TableFunctionRegistry.builtin(), true);
    ArrayNode keywords = node.putArray("keywords");
    for (String keyword : list(SQLKeywordUtils.keywords())) keywords.add(keyword);
    return StatementRequest.JSON.writeValueAsString(node);
  }

  private static void add(ArrayNode functions, FunctionRegistryBase<?> registry, boolean isTable) {
    for (FunctionIdentifier name : list(registry.listFunction())) {
      ExpressionInfo info = registry.lookupFunction(name).get();
      ObjectNode node = functions.addObject();
      node.put("name", name.funcName());
      node.put("is_table", isTable);
      node.put("usage", info.getUsage());
      node.put("arguments", info.getArguments());
      node.put("examples", info.getExamples());
      node.put("note", info.getNote());
      node.put("group", info.getGroup());
      node.put("since", info.getSince());
      node.put("deprecated", info.getDeprecated());
    }
  }
}
