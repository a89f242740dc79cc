/**
 * Caches that statements share: plans, decoded columns, file systems.
 *
 * <p>Start with {@link deltagateway.cache.PlanCache} and {@link deltagateway.cache.ColumnCache}.
 */
package deltagateway.cache;
