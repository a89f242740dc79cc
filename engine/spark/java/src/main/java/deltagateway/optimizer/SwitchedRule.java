package deltagateway.optimizer;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** Spark rule that has a switch, and is counted when it changes a plan. */
abstract class SwitchedRule<T extends TreeNode<?>> extends Rule<T> {
  private final OptimizerRule rule;

  SwitchedRule(OptimizerRule rule) {
    this.rule = rule;
  }

  @Override
  public final T apply(T plan) {
    if (!rule.isEnabled()) return plan;
    T rewritten = rewritePlan(plan);
    if (rewritten != plan) rule.count();
    return rewritten;
  }

  /** Returns the plan itself if the rule does not apply. */
  abstract T rewritePlan(T plan);
}
