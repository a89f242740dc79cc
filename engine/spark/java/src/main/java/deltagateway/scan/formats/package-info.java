/**
 * Spark's readers of Parquet, ORC, Avro, CSV, JSON and text, for the files of a scan.
 *
 * <p>Start with {@link deltagateway.scan.formats.TableParquetFormat}.
 */
package deltagateway.scan.formats;
