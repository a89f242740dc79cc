/**
 * Reads from object stores with few requests.
 *
 * <p>{@link deltagateway.scan.objectstore.VectoredFileSystem} wraps Hadoop's connector.
 */
package deltagateway.scan.objectstore;
