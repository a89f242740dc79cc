/**
 * Partial aggregation on column batches, without generated code: groups are found by dictionary,
 * and each aggregate is a loop over a batch.
 *
 * <p>{@link deltagateway.aggregate.VectorizedAggregates} decides which aggregates are replaced, and
 * {@link deltagateway.aggregate.PartialAggregation} is what a task runs.
 */
package deltagateway.aggregate;
