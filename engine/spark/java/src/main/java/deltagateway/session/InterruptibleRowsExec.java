package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * The rows of another operator, with a check before each that its task was not killed ({@link
 * InterruptibleTasks}).
 *
 * <p>In generated code it is a part of its child's loop: a read of one field. It is public for
 * Spark's reflection.
 */
public final class InterruptibleRowsExec extends SparkPlan implements CodegenSupport {
  private final SparkPlan child;
  private CodegenSupport parent;

  public InterruptibleRowsExec(SparkPlan child) {
    this.child = child;
  }

  public SparkPlan child() {
    return child;
  }

  public scala.collection.immutable.Seq<SparkPlan> children() {
    return ScalaConversions.seq(new ArrayList<>(Collections.singletonList(child)));
  }

  public scala.collection.immutable.Seq<Attribute> output() {
    return child.output();
  }

  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  public scala.collection.immutable.Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  public RDD<InternalRow> doExecute() {
    return child
        .execute()
        .mapPartitionsInternal(new Checking(), true, ScalaConversions.classTag(InternalRow.class));
  }

  /**
   * Only together with its child: a class of generated code for a check alone costs more than it
   * saves.
   */
  public boolean supportCodegen() {
    return child instanceof CodegenSupport && ((CodegenSupport) child).supportCodegen();
  }

  public CodegenSupport parent() {
    return parent;
  }

  public void parent_$eq(CodegenSupport parent) {
    this.parent = parent;
  }

  public scala.collection.immutable.Seq<RDD<InternalRow>> inputRDDs() {
    return ((CodegenSupport) child).inputRDDs();
  }

  public String doProduce(CodegenContext context) {
    return ((CodegenSupport) child).produce(context, this);
  }

  public String doConsume(
      CodegenContext context, scala.collection.immutable.Seq<ExprCode> input, ExprCode row) {
    String task = context.addMutableState("TaskContext", "checkedTask", new OfThread(), true, true);
    return task + ".killTaskIfInterrupted();\n" + consume(context, input, null);
  }

  public SparkPlan withNewChildrenInternal(
      scala.collection.immutable.IndexedSeq<SparkPlan> children) {
    return new InterruptibleRowsExec(children.head());
  }

  /**
   * EXPLAIN shows the plan of the query, which the checks are no part of. Its form with a list of
   * numbered operators has all of them.
   */
  public void generateTreeString(
      int depth,
      ArrayList<Object> lastChildren,
      scala.Function1<String, scala.runtime.BoxedUnit> append,
      boolean verbose,
      String prefix,
      boolean addSuffix,
      int maxFields,
      boolean printNodeId,
      boolean printOutputColumns,
      int indent) {
    if (printNodeId) {
      super.generateTreeString(
          depth,
          lastChildren,
          append,
          verbose,
          prefix,
          addSuffix,
          maxFields,
          printNodeId,
          printOutputColumns,
          indent);
      return;
    }
    child.generateTreeString(
        depth,
        lastChildren,
        append,
        verbose,
        prefix,
        addSuffix,
        maxFields,
        printNodeId,
        printOutputColumns,
        indent);
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int index) {
    return child;
  }

  public boolean canEqual(Object other) {
    return other instanceof InterruptibleRowsExec;
  }

  public boolean equals(Object other) {
    return other instanceof InterruptibleRowsExec
        && ((InterruptibleRowsExec) other).child.equals(child);
  }

  public int hashCode() {
    return 31 * child.hashCode() + 1;
  }

  private static final class OfThread extends scala.runtime.AbstractFunction1 {
    public Object apply(Object name) {
      return name + " = TaskContext.get();";
    }
  }

  private static final class Checking extends scala.runtime.AbstractFunction1
      implements Serializable {
    public Object apply(Object rows) {
      return new InterruptibleIterator<>(TaskContext.get(), (scala.collection.Iterator<?>) rows);
    }
  }
}
