package deltagateway.write;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.schema.EdgeInterpolationAlgorithm;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Types;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Gives the elements of lists, and the keys and values of maps, their field ids in a file's schema.
 * They are in the metadata of the column, or field of a struct, that they are in, by their paths
 * (`value.element`).
 *
 * <p>So are types that Parquet has and Spark does not: `uuid`, `fixed 7`, `time`, `timestamp_ns`,
 * `timestamptz_ns`, `geometry CRS`, `geography ALGORITHM CRS`; at the path of a column or field
 * itself, which is empty. Spark writes their values as numbers and bytes, and the schema says what
 * these are. What is said to be required, by the same paths, is.
 */
public final class FieldIdWriteSupport extends ParquetWriteSupport {
  static final String NESTED_IDS = "gateway.nested.ids";
  static final String TYPES = "gateway.parquet.types";
  static final String REQUIRED = "gateway.required.parts";
  private static final String ITSELF = "itself";
  private static final String ROW_SCHEMA = "org.apache.spark.sql.parquet.row.attributes";

  public WriteSupport.WriteContext init(Configuration configuration) {
    WriteSupport.WriteContext context = super.init(configuration);
    StructType row = (StructType) DataType$.MODULE$.fromJson(configuration.get(ROW_SCHEMA));
    MessageType schema = context.getSchema();
    return new WriteSupport.WriteContext(
        new MessageType(schema.getName(), fields(schema, row)), context.getExtraMetaData());
  }

  private static List<Type> fields(GroupType group, StructType struct) {
    ArrayList<Type> identified = new ArrayList<>();
    StructField[] fields = struct.fields();
    for (int i = 0; i < group.getFieldCount(); i++) {
      Type type = group.getType(i);
      StructField field = fields[struct.fieldIndex(type.getName())];
      Metadata ids = inner(field.metadata(), NESTED_IDS);
      Metadata types = inner(field.metadata(), TYPES);
      List<String> required = required(field.metadata());
      Type typed =
          types.contains(ITSELF) ? typed(type.asPrimitiveType(), types.getString(ITSELF)) : type;
      Type inner = identified(typed, field.dataType(), ids, types, required, "");
      identified.add(required.contains(ITSELF) ? required(inner) : inner);
    }
    return identified;
  }

  private static Metadata inner(Metadata metadata, String key) {
    return metadata.contains(key) ? metadata.getMetadata(key) : Metadata.empty();
  }

  private static List<String> required(Metadata metadata) {
    return metadata.contains(REQUIRED)
        ? Arrays.asList(metadata.getStringArray(REQUIRED))
        : Collections.emptyList();
  }

  private static Type required(Type type) {
    if (!type.isPrimitive()) {
      Types.GroupBuilder<GroupType> group = Types.buildGroup(Type.Repetition.REQUIRED);
      group.addFields(type.asGroupType().getFields().toArray(new Type[0]));
      group.as(type.getLogicalTypeAnnotation());
      return withId((Type) group.named(type.getName()), type);
    }
    PrimitiveType primitive = type.asPrimitiveType();
    Types.PrimitiveBuilder<PrimitiveType> builder =
        Types.primitive(primitive.getPrimitiveTypeName(), Type.Repetition.REQUIRED);
    builder.length(primitive.getTypeLength());
    builder.as(primitive.getLogicalTypeAnnotation());
    return withId((Type) builder.named(type.getName()), type);
  }

  private static Type withId(Type type, Type other) {
    return other.getId() == null ? type : type.withId(other.getId().intValue());
  }

  private static Type identified(
      Type type, DataType kind, Metadata ids, Metadata types, List<String> required, String path) {
    if (kind instanceof StructType) {
      GroupType group = type.asGroupType();
      return group.withNewFields(fields(group, (StructType) kind));
    }
    boolean isMap = kind instanceof MapType;
    if (!isMap && !(kind instanceof ArrayType)) return type;
    GroupType group = type.asGroupType();
    GroupType repeated = group.getType(0).asGroupType();
    ArrayList<Type> parts = new ArrayList<>();
    if (isMap) {
      parts.add(
          part(
              repeated.getType(0), ((MapType) kind).keyType(), ids, types, required, path + "key"));
      parts.add(
          part(
              repeated.getType(1),
              ((MapType) kind).valueType(),
              ids,
              types,
              required,
              path + "value"));
    } else {
      parts.add(
          part(
              repeated.getType(0),
              ((ArrayType) kind).elementType(),
              ids,
              types,
              required,
              path + "element"));
    }
    ArrayList<Type> fields = new ArrayList<>();
    fields.add(repeated.withNewFields(parts));
    return group.withNewFields(fields);
  }

  private static Type part(
      Type type, DataType kind, Metadata ids, Metadata types, List<String> required, String path) {
    Type typed = types.contains(path) ? typed(type.asPrimitiveType(), types.getString(path)) : type;
    Type inner = identified(typed, kind, ids, types, required, path + ".");
    Type known = required.contains(path) ? required(inner) : inner;
    return ids.contains(path) ? known.withId((int) ids.getLong(path)) : known;
  }

  private static Type typed(PrimitiveType type, String said) {
    return withId((Type) annotated(type, said).named(type.getName()), type);
  }

  private static Types.PrimitiveBuilder<PrimitiveType> annotated(PrimitiveType type, String said) {
    String[] words = said.split(" ", 2);
    String kind = words[0];
    PrimitiveType.PrimitiveTypeName stored = type.getPrimitiveTypeName();
    boolean isFixed = kind.equals("uuid") || kind.equals("fixed");
    if (isFixed) stored = PrimitiveType.PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
    Types.PrimitiveBuilder<PrimitiveType> builder = Types.primitive(stored, type.getRepetition());
    if (kind.equals("fixed")) return builder.length(Integer.parseInt(words[1]));
    if (kind.equals("uuid")) builder = builder.length(16);
    return builder.as(annotation(kind, words.length < 2 ? "" : words[1]));
  }

  private static LogicalTypeAnnotation annotation(String kind, String parameters) {
    if (kind.equals("uuid")) return LogicalTypeAnnotation.uuidType();
    if (kind.equals("time"))
      return LogicalTypeAnnotation.timeType(false, LogicalTypeAnnotation.TimeUnit.MICROS);
    if (kind.equals("timestamp_ns") || kind.equals("timestamptz_ns")) {
      return LogicalTypeAnnotation.timestampType(
          kind.equals("timestamptz_ns"), LogicalTypeAnnotation.TimeUnit.NANOS);
    }
    if (kind.equals("geometry")) return LogicalTypeAnnotation.geometryType(parameters);
    if (kind.equals("geography")) {
      String[] words = parameters.split(" ", 2);
      return LogicalTypeAnnotation.geographyType(
          words[1], EdgeInterpolationAlgorithm.valueOf(words[0]));
    }
    throw new IllegalArgumentException(kind + " is no type of columns in Parquet");
  }
}
