/**
 * The process's Spark, its sessions, and the execution of their statements: settings, planning,
 * cancellation, progress.
 *
 * <p>{@link deltagateway.session.GatewaySession} has the methods that Python calls, and {@link
 * deltagateway.session.StatementExecution} runs one statement.
 */
package deltagateway.session;
