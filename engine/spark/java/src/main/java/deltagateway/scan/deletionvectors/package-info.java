/**
 * Reads deletion vectors (Delta protocol, Deletion Vectors; Iceberg specification, Deletion
 * Vectors) and leaves out the rows that they delete.
 *
 * <p>Start with {@link deltagateway.scan.deletionvectors.DeletionVector}.
 */
package deltagateway.scan.deletionvectors;
