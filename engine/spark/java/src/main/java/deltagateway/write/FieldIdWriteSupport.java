package deltagateway.write;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.schema.EdgeInterpolationAlgorithm;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
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
 * Writes the field ids of elements of lists, and of keys and values of maps, into a file's schema.
 * They are in the metadata of the column or field of a struct that contains them, by their paths
 * (`value.element`).
 *
 * <p>The metadata also has types that Parquet has and Spark does not: `uuid`, `fixed 7`, `time`,
 * `timestamp_ns`, `timestamptz_ns`, `geometry CRS`, `geography ALGORITHM CRS`. Spark writes their
 * values as numbers and bytes, and the schema has their type. It also has the paths of required
 * parts. The path {@link #ITSELF} is that of the column or field.
 */
public final class FieldIdWriteSupport extends ParquetWriteSupport {
  static final String NESTED_IDS = "gateway.nested.ids";
  static final String TYPES = "gateway.parquet.types";
  static final String REQUIRED = "gateway.required.parts";
  static final String ITSELF = "itself";
  private static final String ROW_SCHEMA = "org.apache.spark.sql.parquet.row.attributes";

  @Override
  public WriteContext init(Configuration configuration) {
    WriteContext context = super.init(configuration);
    StructType row = (StructType) DataType$.MODULE$.fromJson(configuration.get(ROW_SCHEMA));
    MessageType schema = context.getSchema();
    return new WriteContext(
        new MessageType(schema.getName(), fields(schema, row)), context.getExtraMetaData());
  }

  static List<Type> fields(GroupType group, StructType struct) {
    List<Type> fields = new ArrayList<>();
    for (Type type : group.getFields()) {
      StructField field = struct.apply(type.getName());
      fields.add(Parts.of(field.metadata()).applied(type, field.dataType(), ITSELF, ""));
    }
    return fields;
  }

  private static Type asRequired(Type type) {
    if (!type.isPrimitive()) {
      Types.GroupBuilder<GroupType> group = Types.buildGroup(Type.Repetition.REQUIRED);
      group.addFields(type.asGroupType().getFields().toArray(new Type[0]));
      group.as(type.getLogicalTypeAnnotation());
      return withId(group.named(type.getName()), type);
    }
    PrimitiveType primitive = type.asPrimitiveType();
    Types.PrimitiveBuilder<PrimitiveType> builder =
        Types.primitive(primitive.getPrimitiveTypeName(), Type.Repetition.REQUIRED);
    builder.length(primitive.getTypeLength());
    builder.as(primitive.getLogicalTypeAnnotation());
    return withId(builder.named(type.getName()), type);
  }

  private static Type withId(Type type, Type other) {
    return other.getId() == null ? type : type.withId(other.getId().intValue());
  }

  private static Type typed(PrimitiveType type, String declared) {
    return withId(annotated(type, declared).named(type.getName()), type);
  }

  private static Types.PrimitiveBuilder<PrimitiveType> annotated(
      PrimitiveType type, String declared) {
    String[] words = declared.split(" ", 2);
    String kind = words[0];
    boolean isFixed = kind.equals("uuid") || kind.equals("fixed");
    Types.PrimitiveBuilder<PrimitiveType> builder =
        Types.primitive(
            isFixed ? PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY : type.getPrimitiveTypeName(),
            type.getRepetition());
    if (kind.equals("fixed")) return builder.length(Integer.parseInt(words[1]));
    if (kind.equals("uuid")) builder = builder.length(16);
    return builder.as(annotation(kind, words.length < 2 ? "" : words[1]));
  }

  private static LogicalTypeAnnotation annotation(String kind, String parameters) {
    return switch (kind) {
      case "uuid" -> LogicalTypeAnnotation.uuidType();
      case "time" -> LogicalTypeAnnotation.timeType(false, TimeUnit.MICROS);
      case "timestamp_ns" -> LogicalTypeAnnotation.timestampType(false, TimeUnit.NANOS);
      case "timestamptz_ns" -> LogicalTypeAnnotation.timestampType(true, TimeUnit.NANOS);
      case "geometry" -> LogicalTypeAnnotation.geometryType(parameters);
      case "geography" -> {
        String[] words = parameters.split(" ", 2);
        yield LogicalTypeAnnotation.geographyType(
            words[1], EdgeInterpolationAlgorithm.valueOf(words[0]));
      }
      default -> throw new IllegalArgumentException(kind + " is no type of columns in Parquet");
    };
  }

  /** Metadata of the parts of one column or field, by their paths. */
  private record Parts(Metadata ids, Metadata types, List<String> required) {
    static Parts of(Metadata metadata) {
      List<String> required =
          metadata.contains(REQUIRED) ? List.of(metadata.getStringArray(REQUIRED)) : List.of();
      return new Parts(inner(metadata, NESTED_IDS), inner(metadata, TYPES), required);
    }

    private static Metadata inner(Metadata metadata, String key) {
      return metadata.contains(key) ? metadata.getMetadata(key) : Metadata.empty();
    }

    /** Applies the metadata of the part at `path`, and of those below `prefix`. */
    Type applied(Type type, DataType kind, String path, String prefix) {
      Type typed =
          types.contains(path) ? typed(type.asPrimitiveType(), types.getString(path)) : type;
      Type inner = nested(typed, kind, prefix);
      Type known = required.contains(path) ? asRequired(inner) : inner;
      return ids.contains(path) ? known.withId((int) ids.getLong(path)) : known;
    }

    private Type nested(Type type, DataType kind, String prefix) {
      if (kind instanceof StructType struct) {
        GroupType group = type.asGroupType();
        return group.withNewFields(fields(group, struct));
      }
      if (kind instanceof ArrayType array)
        return repeated(
            type, repeated -> List.of(part(repeated, 0, array.elementType(), prefix + "element")));
      if (kind instanceof MapType map)
        return repeated(
            type,
            repeated ->
                List.of(
                    part(repeated, 0, map.keyType(), prefix + "key"),
                    part(repeated, 1, map.valueType(), prefix + "value")));
      return type;
    }

    private static Type repeated(Type type, Function<GroupType, List<Type>> parts) {
      GroupType group = type.asGroupType();
      GroupType repeated = group.getType(0).asGroupType();
      return group.withNewFields(List.of(repeated.withNewFields(parts.apply(repeated))));
    }

    private Type part(GroupType repeated, int position, DataType kind, String path) {
      return applied(repeated.getType(position), kind, path, path + ".");
    }
  }
}
