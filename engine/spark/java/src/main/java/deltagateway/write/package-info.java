/**
 * Writes of tables: store assignment, enforcement of constraints, generated and identity columns,
 * and files.
 *
 * <p>{@link deltagateway.write.RowEnforcer} plans the rows and {@link
 * deltagateway.write.TableWriter} writes them.
 */
package deltagateway.write;
