/**
 * Rejects plans that may read or reveal data that their user may not read. Fails closed: a node
 * that is in no list is rejected.
 *
 * <p>Start with {@link deltagateway.guard.PlanGuard}.
 */
package deltagateway.guard;
