package deltagateway;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.DataType;

/** An IN whose list no rule of Spark sees, until {@link LongInLists} knows the type of its value. */
final class HiddenIn extends UnaryExpression {
  final scala.collection.immutable.Seq list;
  private final Expression value;

  HiddenIn(Expression value, scala.collection.immutable.Seq list) {
    this.value = value;
    this.list = list;
  }

  public TreeNode child() {
    return value;
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    throw new IllegalStateException("a list was not put back");
  }

  public boolean resolved() {
    return false;
  }

  public DataType dataType() {
    return BooleanType$.MODULE$;
  }

  public String toString() {
    return value + " IN (…)";
  }

  public TreeNode withNewChildInternal(TreeNode child) {
    return new HiddenIn((Expression) child, list);
  }

  public int productArity() {
    return 2;
  }

  public Object productElement(int index) {
    return index == 0 ? value : list;
  }

  public boolean canEqual(Object other) {
    return other instanceof HiddenIn;
  }

  public boolean equals(Object other) {
    return other instanceof HiddenIn && ((HiddenIn) other).value.equals(value) && ((HiddenIn) other).list == list;
  }

  public int hashCode() {
    return 31 * value.hashCode() + 2;
  }
}
