/**
 * Statistics that are counted while files are written.
 *
 * <p>{@link deltagateway.write.stats.NestedNullCounts} counts nulls that footers of Parquet do not
 * have.
 */
package deltagateway.write.stats;
