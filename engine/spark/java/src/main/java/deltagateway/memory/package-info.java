/**
 * Keeps memory free for planning and for Spark's own threads.
 *
 * <p>Start with {@link deltagateway.memory.MemoryGuard}.
 */
package deltagateway.memory;
