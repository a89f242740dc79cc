/**
 * Results on their way to Python: Arrow record batches, in memory or in files.
 *
 * <p>{@link deltagateway.result.ResultSpool} collects the parts of a result.
 */
package deltagateway.result;
