package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.Collections;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.DataType;

/**
 * An IN whose list no rule of Spark sees, until {@link LargeInLists} knows the type of its value.
 */
public final class OpaqueIn extends Expression {
  final scala.collection.immutable.Seq<Expression> list;
  final Expression value;

  OpaqueIn(Expression value, scala.collection.immutable.Seq<Expression> list) {
    this.value = value;
    this.list = list;
  }

  public scala.collection.immutable.Seq<Expression> children() {
    return ScalaConversions.seq(new ArrayList<>(Collections.singletonList(value)));
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    throw new IllegalStateException("a list was not put back");
  }

  public Object eval(InternalRow row) {
    throw new IllegalStateException("a list was not put back");
  }

  public boolean foldable() {
    return value.foldable();
  }

  public boolean nullable() {
    return value.nullable();
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

  public Expression withNewChildrenInternal(
      scala.collection.immutable.IndexedSeq<Expression> children) {
    return new OpaqueIn(children.head(), list);
  }

  public int productArity() {
    return 2;
  }

  public Object productElement(int index) {
    return index == 0 ? value : list;
  }

  public boolean canEqual(Object other) {
    return other instanceof OpaqueIn;
  }

  public boolean equals(Object other) {
    return other instanceof OpaqueIn
        && ((OpaqueIn) other).value.equals(value)
        && ((OpaqueIn) other).list == list;
  }

  public int hashCode() {
    return 31 * value.hashCode() + 2;
  }
}
