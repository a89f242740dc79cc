package deltagateway.session;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/**
 * Changes no plan: it ends the analysis or optimization of a statement that was cancelled, between
 * two rules of theirs. Spark looks for nothing of the kind, and a query of many parts goes through
 * its rules for minutes.
 */
public final class CancellationRule extends Rule {
  public TreeNode apply(TreeNode plan) {
    GatewaySession.ensureCurrentLive();
    return plan;
  }
}
