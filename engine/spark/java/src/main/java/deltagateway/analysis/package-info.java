/**
 * Decides and changes what a query means, before and after Spark analyzes it: the tables,
 * variables, parameters and SQL functions that its names stand for, its lineage, and what its
 * values depend on.
 *
 * <p>{@link deltagateway.analysis.TableRelations} puts tables into a parsed plan; {@link
 * deltagateway.analysis.Volatility} decides what may be cached.
 */
package deltagateway.analysis;
