/**
 * Analysis of queries, before and after Spark's: the tables, variables, parameters and SQL
 * functions that their names stand for, their lineage, and their volatility.
 *
 * <p>{@link deltagateway.analysis.TableRelations} resolves names of tables in a parsed plan; {@link
 * deltagateway.analysis.Volatility} decides if a plan or result may be cached.
 */
package deltagateway.analysis;
