package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;

/**
 * The value of another expression, with a check now and then that the task was not killed ({@link
 * InterruptibleTasks}): the body of a lambda function is evaluated for each element of an array,
 * within one row.
 */
public final class InterruptibleExpression extends Expression implements Serializable {
  private static final int EVERY = 64;

  private final Expression child;
  private transient int count;

  public InterruptibleExpression(Expression child) {
    this.child = child;
  }

  public scala.collection.immutable.Seq<Expression> children() {
    return ScalaConversions.seq(new ArrayList<>(Collections.singletonList(child)));
  }

  public DataType dataType() {
    return child.dataType();
  }

  public boolean foldable() {
    return child.foldable();
  }

  public boolean nullable() {
    return child.nullable();
  }

  public Object eval(InternalRow row) {
    if (++count % EVERY == 0) ensureWanted();
    return child.eval(row);
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    String calls = context.addMutableState("int", "checkedCalls", new Undefined(), true, true);
    String check =
        "if (++"
            + calls
            + " % "
            + EVERY
            + " == 0) deltagateway.session.InterruptibleExpression.ensureWanted();\n";
    ExprCode value = child.genCode(context);
    scala.collection.immutable.Seq<String> parts =
        ScalaConversions.seq(new ArrayList<>(Collections.singletonList(check)));
    CodeBlock before = new CodeBlock(parts, ScalaConversions.seq(new ArrayList<>()));
    return new ExprCode(before.$plus(value.code()), value.isNull(), value.value());
  }

  /** Ends the task of this thread if it was killed; does nothing on threads without a task. */
  public static void ensureWanted() {
    TaskContext task = TaskContext.get();
    if (task != null) task.killTaskIfInterrupted();
  }

  public String toString() {
    return child.toString();
  }

  public String sql() {
    return child.sql();
  }

  public Expression withNewChildrenInternal(
      scala.collection.immutable.IndexedSeq<Expression> newChildren) {
    return new InterruptibleExpression(newChildren.head());
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int index) {
    return child;
  }

  public boolean canEqual(Object other) {
    return other instanceof InterruptibleExpression;
  }

  public boolean equals(Object other) {
    return other instanceof InterruptibleExpression
        && ((InterruptibleExpression) other).child.equals(child);
  }

  public int hashCode() {
    return 31 * child.hashCode() + 1;
  }

  private static final class Undefined extends scala.runtime.AbstractFunction1 {
    public Object apply(Object name) {
      return "";
    }
  }
}
