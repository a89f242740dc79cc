/**
 * Rejects plans that may read or reveal what their user may not. Fails closed: a node that no list
 * names is rejected.
 *
 * <p>Start with {@link deltagateway.guard.PlanGuard}.
 */
package deltagateway.guard;
