package deltagateway;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Gives the elements of lists, and the keys and values of maps, their field ids in a file's schema. They are in the
 * metadata of the column, or field of a struct, that they are in, by their paths (`value.element`).
 */
public final class IdentifiedWriteSupport extends ParquetWriteSupport {
  static final String NESTED_IDS = "gateway.nested.ids";
  private static final String ROW_SCHEMA = "org.apache.spark.sql.parquet.row.attributes";

  public WriteSupport.WriteContext init(Configuration configuration) {
    WriteSupport.WriteContext context = super.init(configuration);
    StructType row = (StructType) DataType$.MODULE$.fromJson(configuration.get(ROW_SCHEMA));
    MessageType schema = context.getSchema();
    return new WriteSupport.WriteContext(
        new MessageType(schema.getName(), fields(schema, row)), context.getExtraMetaData());
  }

  private static List fields(GroupType group, StructType struct) {
    ArrayList identified = new ArrayList();
    StructField[] fields = struct.fields();
    for (int i = 0; i < group.getFieldCount(); i++) {
      Type type = group.getType(i);
      StructField field = fields[struct.fieldIndex(type.getName())];
      Metadata metadata = field.metadata();
      Metadata ids = metadata.contains(NESTED_IDS) ? metadata.getMetadata(NESTED_IDS) : Metadata.empty();
      identified.add(identified(type, field.dataType(), ids, ""));
    }
    return identified;
  }

  private static Type identified(Type type, DataType kind, Metadata ids, String path) {
    if (kind instanceof StructType) {
      GroupType group = type.asGroupType();
      return group.withNewFields(fields(group, (StructType) kind));
    }
    boolean isMap = kind instanceof MapType;
    if (!isMap && !(kind instanceof ArrayType)) return type;
    GroupType group = type.asGroupType();
    GroupType repeated = group.getType(0).asGroupType();
    ArrayList parts = new ArrayList();
    if (isMap) {
      parts.add(part(repeated.getType(0), ((MapType) kind).keyType(), ids, path + "key"));
      parts.add(part(repeated.getType(1), ((MapType) kind).valueType(), ids, path + "value"));
    } else {
      parts.add(part(repeated.getType(0), ((ArrayType) kind).elementType(), ids, path + "element"));
    }
    ArrayList fields = new ArrayList();
    fields.add(repeated.withNewFields(parts));
    return group.withNewFields(fields);
  }

  private static Type part(Type type, DataType kind, Metadata ids, String path) {
    Type inner = identified(type, kind, ids, path + ".");
    return ids.contains(path) ? inner.withId((int) ids.getLong(path)) : inner;
  }
}
