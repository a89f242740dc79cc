package deltagateway.scan.rowids;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.TableScan;
import deltagateway.scan.deletionvectors.LiveRowIterator;
import java.util.ArrayList;
import java.util.Arrays;
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
 * The fields of `_metadata` that row tracking adds.
 *
 * <p>A row keeps its id and the version that last changed it for as long as it lives. A file that
 * took rows over from others holds both in columns of its own (null for rows that are new in it);
 * else the id is the file's base plus the row's index in it, and the version is the file's.
 *
 * <p>Protocol: "Row Tracking", "Reader Requirements for Row Tracking".
 */
public final class RowTrackingColumns {
  private static final String[] NAMES = {
    "row_id", "base_row_id", "default_row_commit_version", "row_commit_version"
  };

  private final StatementRequest.RowTracking names;

  /**
   * `names` is null for a table without row tracking, whose `_metadata` stays as Spark gives it.
   */
  public RowTrackingColumns(StatementRequest.RowTracking names) {
    this.names = names;
  }

  public static void addFields(List<StructField> fields) {
    for (int i = 0; i < NAMES.length; i++) {
      fields.add(
          FileSourceConstantMetadataStructField$.MODULE$.apply(NAMES[i], LongType$.MODULE$, true));
    }
  }

  /** The columns in which files keep what they took over. */
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
   * What replaces `asked`, the hidden column that the query knows: Spark's own, `given`, and our
   * fields.
   */
  public Alias shown(Attribute asked, Attribute given, List<Attribute> output) {
    Expression value = names == null ? given : struct(given, output);
    return new Alias(
        value,
        asked.name(),
        asked.exprId(),
        asked.qualifier(),
        scala.Option.apply(asked.metadata()),
        ScalaConversions.seq(new ArrayList<>()));
  }

  private Expression struct(Attribute given, List<Attribute> output) {
    List<Expression> parts = new ArrayList<>();
    String[] fields = ((StructType) given.dataType()).fieldNames();
    for (int i = 0; i < fields.length; i++)
      add(parts, fields[i], TableScan.field(given, fields[i]));
    Attribute base = TableScan.named(output, names.baseRowId);
    Attribute version = TableScan.named(output, names.commitVersion);
    Expression index = TableScan.field(given, ParquetFileFormat.ROW_INDEX());
    Literal place = new Literal(Long.valueOf(~LiveRowIterator.OTHER), LongType$.MODULE$);
    Expression position = new Add(base, new BitwiseAnd(index, place));
    add(parts, NAMES[0], kept(names.rowIdColumn, position, output));
    add(parts, NAMES[1], base);
    add(parts, NAMES[2], version);
    add(parts, NAMES[3], kept(names.commitVersionColumn, version, output));
    return new CreateNamedStruct(ScalaConversions.seq(parts));
  }

  private static void add(List<Expression> parts, String name, Expression value) {
    parts.add(Literal$.MODULE$.apply(name));
    parts.add(value);
  }

  private static Expression kept(String column, Expression otherwise, List<Attribute> output) {
    if (column == null) return otherwise;
    return new Coalesce(
        ScalaConversions.seq(Arrays.asList(TableScan.named(output, column), otherwise)));
  }
}
