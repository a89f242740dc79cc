/**
 * What crosses between Python and Java: requests, responses, callbacks and errors.
 *
 * <p>{@link deltagateway.protocol.StatementRequest} is the schema of a statement's request.
 */
package deltagateway.protocol;
