package deltagateway;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LeafExpression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;

/**
 * A literal whose value is not written into generated code: that reads it from a field, which is set from what the
 * code is given when it starts. It is no Literal to Spark, so that a plan with it differs from the one without.
 */
public final class LiteralReference extends LeafExpression {
  private final Literal literal;

  public LiteralReference(Literal literal) {
    this.literal = literal;
  }

  /** Whether Spark writes a value into code, and not what it is for; those of other types are references anyway. */
  static boolean isInlined(Expression operand) {
    if (!(operand instanceof Literal) || ((Literal) operand).value() == null) return false;
    return CodeGenerator.isPrimitiveType(operand.dataType()) && !(operand.dataType() instanceof BooleanType);
  }

  public DataType dataType() {
    return literal.dataType();
  }

  public boolean nullable() {
    return false;
  }

  public Object eval(InternalRow row) {
    return literal.value();
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    String type = CodeGenerator.javaType(dataType());
    String boxed = context.addReferenceObj("literal", literal.value(), CodeGenerator.boxedType(dataType()));
    final String value = boxed + "." + type + "Value()";
    String field = context.addMutableState(
        type,
        "literal",
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object name) {
            return name + " = " + value + ";";
          }
        },
        false,
        true);
    return ExprCode.forNonNullValue(JavaCode.global(field, dataType()));
  }

  public String toString() {
    return literal.toString();
  }

  public String sql() {
    return literal.sql();
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int position) {
    if (position != 0) throw new IndexOutOfBoundsException(Integer.toString(position));
    return literal;
  }

  public boolean canEqual(Object other) {
    return other instanceof LiteralReference;
  }

  public boolean equals(Object other) {
    return other instanceof LiteralReference && literal.equals(((LiteralReference) other).literal);
  }

  public int hashCode() {
    return literal.hashCode();
  }
}
