/**
 * DataFrame plans: relations of Spark Connect's protocol, which Spark's own planner turns into
 * unresolved plans.
 *
 * <p>Start with {@link deltagateway.connect.DataFramePlans}.
 */
package deltagateway.connect;
