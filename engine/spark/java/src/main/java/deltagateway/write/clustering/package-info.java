/**
 * Orders rows so that files have narrow ranges of several columns.
 *
 * <p>Start with {@link deltagateway.write.clustering.SpaceFillingCurve}.
 */
package deltagateway.write.clustering;
