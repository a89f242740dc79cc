package deltagateway.scan.rowids;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.TableScan;
import deltagateway.scan.deletionvectors.LiveRowIterator;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceConstantMetadataStructField$;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Fields of `_metadata` that row tracking adds.
 *
 * <p>A row has the same id, and the version that last changed it, for all of its life. A file with
 * rows copied from other files materializes both in columns of its own, which are null for new
 * rows. Otherwise the id is the file's base plus the row's index, and the version is the file's.
 *
 * <p>Protocol: "Row Tracking", "Reader Requirements for Row Tracking".
 */
public final class RowTrackingColumns {
  private static final String ROW_ID = "row_id";
  private static final String BASE_ROW_ID = "base_row_id";
  private static final String DEFAULT_ROW_COMMIT_VERSION = "default_row_commit_version";
  private static final String ROW_COMMIT_VERSION = "row_commit_version";

  private final StatementRequest.RowTracking names;

  /** `names` is null for a table without row tracking, whose `_metadata` is Spark's own. */
  public RowTrackingColumns(StatementRequest.RowTracking names) {
    this.names = names;
  }

  /** Returns the fields of `_metadata`. */
  public static List<StructField> fields() {
    List<StructField> fields = new ArrayList<>();
    for (String name : List.of(ROW_ID, BASE_ROW_ID, DEFAULT_ROW_COMMIT_VERSION, ROW_COMMIT_VERSION))
      fields.add(
          FileSourceConstantMetadataStructField$.MODULE$.apply(name, LongType$.MODULE$, true));
    return fields;
  }

  /** Returns the columns and those of materialized ids and versions. */
  public static StructType addColumns(StructType columns, StatementRequest.RowTracking names) {
    StructType all = columns;
    if (names.rowIdColumn != null) all = all.add(column(names.rowIdColumn, names, 0));
    if (names.commitVersionColumn != null)
      all = all.add(column(names.commitVersionColumn, names, 1));
    return all;
  }

  private static StructField column(String name, StatementRequest.RowTracking names, int position) {
    MetadataBuilder metadata = new MetadataBuilder();
    if (names.fieldIds != null)
      metadata.putLong(ParquetUtils.FIELD_ID_METADATA_KEY(), names.fieldIds[position]);
    return new StructField(name, LongType$.MODULE$, true, metadata.build());
  }

  /**
   * Returns the replacement of the hidden column `column` of a query: Spark's own, `metadata`, and
   * the fields of row tracking. `output` has the constants of the files.
   */
  public Alias replacement(Attribute column, Attribute metadata, List<Attribute> output) {
    return TableScan.alias(names == null ? metadata : struct(metadata, output), column);
  }

  private Expression struct(Attribute metadata, List<Attribute> output) {
    List<Expression> parts = new ArrayList<>();
    for (String name : ((StructType) metadata.dataType()).fieldNames())
      add(parts, name, TableScan.field(metadata, name));
    Attribute base = TableScan.named(output, names.baseRowId);
    Attribute version = TableScan.named(output, names.commitVersion);
    Expression rowIndex = TableScan.field(metadata, ParquetFileFormat.ROW_INDEX());
    Literal indexBits = new Literal(~LiveRowIterator.OTHER, LongType$.MODULE$);
    Expression defaultId = new Add(base, new BitwiseAnd(rowIndex, indexBits));
    add(parts, ROW_ID, materialized(names.rowIdColumn, defaultId, output));
    add(parts, BASE_ROW_ID, base);
    add(parts, DEFAULT_ROW_COMMIT_VERSION, version);
    add(parts, ROW_COMMIT_VERSION, materialized(names.commitVersionColumn, version, output));
    return new CreateNamedStruct(ScalaConversions.seq(parts));
  }

  private static void add(List<Expression> parts, String name, Expression value) {
    parts.add(Literal$.MODULE$.apply(name));
    parts.add(value);
  }

  private static Expression materialized(
      String column, Expression byDefault, List<Attribute> output) {
    if (column == null) return byDefault;
    return new Coalesce(ScalaConversions.seq(List.of(TableScan.named(output, column), byDefault)));
  }
}
