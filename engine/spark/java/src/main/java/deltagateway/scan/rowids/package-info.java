/**
 * The metadata columns of row tracking (Delta protocol, Row Tracking; Iceberg specification, Row
 * Lineage) and row indexes in files.
 *
 * <p>Start with {@link deltagateway.scan.rowids.RowTrackingColumns}.
 */
package deltagateway.scan.rowids;
