package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import java.io.Serializable;
import java.util.ArrayList;
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
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Rows of another operator, with a check before each if the task was killed ({@link
 * InterruptibleTasks}).
 *
 * <p>In generated code the check is a part of the child's loop: a read of one field. The class is
 * public for Spark's reflection.
 */
public final class InterruptibleRowsExec extends SparkPlan implements CodegenSupport {
  private static final long serialVersionUID = 1;

  private final SparkPlan child;
  private CodegenSupport parent;

  public InterruptibleRowsExec(SparkPlan child) {
    this.child = child;
  }

  public SparkPlan child() {
    return child;
  }

  @Override
  public Seq<SparkPlan> children() {
    return ScalaConversions.one(child);
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child
        .execute()
        .mapPartitionsInternal(new Check(), true, ScalaConversions.classTag(InternalRow.class));
  }

  /**
   * Returns true only with its child: generated code for a check alone costs more than it saves.
   */
  @Override
  public boolean supportCodegen() {
    return child instanceof CodegenSupport generated && generated.supportCodegen();
  }

  @Override
  public CodegenSupport parent() {
    return parent;
  }

  @Override
  public void parent_$eq(CodegenSupport parent) {
    this.parent = parent;
  }

  @Override
  public Seq<RDD<InternalRow>> inputRDDs() {
    return ((CodegenSupport) child).inputRDDs();
  }

  @Override
  public String doProduce(CodegenContext context) {
    return ((CodegenSupport) child).produce(context, this);
  }

  @Override
  public String doConsume(CodegenContext context, Seq<ExprCode> input, ExprCode row) {
    String task =
        context.addMutableState(
            "TaskContext", "checkedTask", name -> name + " = TaskContext.get();", true, true);
    return task + ".killTaskIfInterrupted();\n" + consume(context, input, null);
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new InterruptibleRowsExec(children.head());
  }

  /** Omits the check from EXPLAIN, except for the form with a list of numbered operators. */
  @Override
  public void generateTreeString(
      int depth,
      ArrayList<Object> lastChildren,
      Function1<String, BoxedUnit> append,
      boolean verbose,
      String prefix,
      boolean addSuffix,
      int maxFields,
      boolean printNodeId,
      boolean printOutputColumns,
      int indent) {
    if (printNodeId)
      super.generateTreeString(
          depth,
          lastChildren,
          append,
          verbose,
          prefix,
          addSuffix,
          maxFields,
          true,
          printOutputColumns,
          indent);
    else
      child.generateTreeString(
          depth,
          lastChildren,
          append,
          verbose,
          prefix,
          addSuffix,
          maxFields,
          false,
          printOutputColumns,
          indent);
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
    return other instanceof InterruptibleRowsExec;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InterruptibleRowsExec plan && plan.child.equals(child);
  }

  @Override
  public int hashCode() {
    return 31 * child.hashCode() + 1;
  }

  private static final class Check
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1;

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      return new InterruptibleIterator<>(TaskContext.get(), rows);
    }
  }
}
