/**
 * Requests, responses, callbacks and errors that cross between Python and Java.
 *
 * <p>{@link deltagateway.protocol.Schema} declares their fields; {@link
 * deltagateway.protocol.StatementRequest} is the request of a statement.
 */
package deltagateway.protocol;
