package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.one;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * IN predicate whose list is hidden from Spark's rules until {@link LargeInLists} knows the type of
 * its value.
 */
final class OpaqueIn extends Expression {
  private static final long serialVersionUID = 1L;

  final Expression value;
  final Seq<Expression> list;

  OpaqueIn(Expression value, Seq<Expression> list) {
    this.value = value;
    this.list = list;
  }

  @Override
  public Seq<Expression> children() {
    return one(value);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    throw new IllegalStateException("the list of an IN predicate was not restored");
  }

  @Override
  public Object eval(InternalRow row) {
    throw new IllegalStateException("the list of an IN predicate was not restored");
  }

  @Override
  public boolean foldable() {
    return value.foldable();
  }

  @Override
  public boolean nullable() {
    return value.nullable();
  }

  @Override
  public boolean resolved() {
    return false;
  }

  @Override
  public DataType dataType() {
    return BooleanType$.MODULE$;
  }

  @Override
  public String toString() {
    return value + " IN (…)";
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new OpaqueIn(children.head(), list);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return index == 0 ? value : list;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof OpaqueIn;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof OpaqueIn that && that.value.equals(value) && that.list == list;
  }

  @Override
  public int hashCode() {
    return 31 * value.hashCode() + 2;
  }
}
