/**
 * Access to internals of Spark and Scala that other packages share: private fields, collections,
 * trees.
 *
 * <p>Each use of {@link deltagateway.internals.PrivateField} has its reason beside it.
 */
package deltagateway.internals;
