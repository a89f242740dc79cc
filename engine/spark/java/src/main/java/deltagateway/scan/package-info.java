/**
 * Reads of tables: listed files with constants, filters that select files, columns under the names
 * of the table.
 *
 * <p>{@link deltagateway.scan.TableScan} makes the relation of a table; Spark reads its files
 * through {@link deltagateway.scan.PrunedFileIndex}.
 */
package deltagateway.scan;
