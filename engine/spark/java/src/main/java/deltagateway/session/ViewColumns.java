package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NullType$;

/** Types of a view's columns, according to its mode of Spark's `WITH SCHEMA`. */
final class ViewColumns {
  private static final String BINDING = "BINDING";
  private static final String COMPENSATION = "COMPENSATION";

  private ViewColumns() {}

  /**
   * Returns a column of the view's query, in mode BINDING or COMPENSATION with the type that was
   * recorded at the view's creation. Casts are ANSI casts, as in Spark's views.
   */
  static Expression withType(
      Attribute source, StatementRequest.View.Column column, StatementRequest.View view) {
    boolean isBinding = view.schemaMode.equals(BINDING);
    boolean hasType = isBinding || view.schemaMode.equals(COMPENSATION);
    if (!hasType || column.type().isEmpty()) return source;
    DataType found = source.dataType();
    if (found.catalogString().equals(column.type())) return source;
    DataType expected = parsed(column.type());
    if (DataType.equalsIgnoreNullability(found, expected)) return source;
    if (isBinding ? !Cast.canUpCast(found, expected) : !Cast.canAnsiCast(found, expected))
      throw new RejectionException(
          isBinding ? "view column without up cast" : "view column without cast",
          String.join("\0", column.name(), view.label, found.sql(), column.type()));
    return new Cast(source, expected, ScalaConversions.none(), EvalMode$.MODULE$.ANSI());
  }

  /**
   * Parses a recorded type. In it, names of struct fields have no quotes, so that some types cannot
   * be parsed: nothing is cast to VOID, which stands for them.
   */
  private static DataType parsed(String type) {
    try {
      return CharVarcharUtils.replaceCharVarcharWithString(
          CatalystSqlParser$.MODULE$.parseDataType(type));
    } catch (Exception error) { // the method does not declare Spark's ParseException
      if (error instanceof ParseException) return NullType$.MODULE$;
      throw error;
    }
  }
}
