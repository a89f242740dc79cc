package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Value of another expression, with a regular check if the task was killed ({@link
 * InterruptibleTasks}): the body of a lambda function is evaluated for each element of an array,
 * within one row.
 */
public final class InterruptibleExpression extends Expression implements Serializable {
  private static final long serialVersionUID = 1;

  private static final int CHECK_EVERY = 64;

  private final Expression child;
  private transient int count;

  public InterruptibleExpression(Expression child) {
    this.child = child;
  }

  @Override
  public Seq<Expression> children() {
    return ScalaConversions.one(child);
  }

  @Override
  public DataType dataType() {
    return child.dataType();
  }

  @Override
  public boolean foldable() {
    return child.foldable();
  }

  @Override
  public boolean nullable() {
    return child.nullable();
  }

  @Override
  public Object eval(InternalRow row) {
    if (++count % CHECK_EVERY == 0) killTaskIfInterrupted();
    return child.eval(row);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    String count = context.addMutableState("int", "checkedCalls", name -> "", true, true);
    String check =
        "if (++%s %% %d == 0) deltagateway.session.InterruptibleExpression.killTaskIfInterrupted();\n"
            .formatted(count, CHECK_EVERY);
    ExprCode value = child.genCode(context);
    CodeBlock before = new CodeBlock(ScalaConversions.one(check), ScalaConversions.emptySeq());
    return new ExprCode(before.$plus(value.code()), value.isNull(), value.value());
  }

  /** Ends this thread's task if it was killed; called by generated code. */
  public static void killTaskIfInterrupted() {
    TaskContext task = TaskContext.get();
    if (task != null) task.killTaskIfInterrupted();
  }

  @Override
  public String toString() {
    return child.toString();
  }

  @Override
  public String sql() {
    return child.sql();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new InterruptibleExpression(newChildren.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return child;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof InterruptibleExpression;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InterruptibleExpression expression && expression.child.equals(child);
  }

  @Override
  public int hashCode() {
    return 31 * child.hashCode() + 1;
  }
}
