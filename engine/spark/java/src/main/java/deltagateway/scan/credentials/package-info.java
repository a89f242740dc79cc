/**
 * Credentials for the files of one table that a catalog vends.
 *
 * <p>{@link deltagateway.scan.credentials.VendedCredentialsFileSystem} is the file system that uses
 * them.
 */
package deltagateway.scan.credentials;
