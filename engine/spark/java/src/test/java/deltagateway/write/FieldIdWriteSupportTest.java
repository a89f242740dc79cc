package deltagateway.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Field ids, types and required parts in a file's schema. */
class FieldIdWriteSupportTest {
  private static MetadataBuilder builder() {
    return new MetadataBuilder();
  }

  private static String schema(String parquet, String ddl, Metadata metadata) {
    StructField field = StructType.fromDDL("c " + ddl).fields()[0];
    StructType row =
        new StructType(new StructField[] {new StructField("c", field.dataType(), true, metadata)});
    MessageType type = MessageTypeParser.parseMessageType("message m { " + parquet + " }");
    return new MessageType("m", FieldIdWriteSupport.fields(type, row)).toString();
  }

  private static String parsed(String parquet) {
    return MessageTypeParser.parseMessageType("message m { " + parquet + " }").toString();
  }

  @Test
  void nestedPartsHaveTheirIds() {
    Metadata metadata =
        builder()
            .putMetadata(
                FieldIdWriteSupport.NESTED_IDS,
                builder().putLong("key", 5).putLong("value", 6).putLong("value.element", 7).build())
            .build();
    assertEquals(
        parsed(
            "optional group c (MAP) = 1 { repeated group key_value {"
                + " required int32 key = 5; optional group value (LIST) = 6 { repeated group list {"
                + " optional int64 element = 7; } } } }"),
        schema(
            "optional group c (MAP) = 1 { repeated group key_value {"
                + " required int32 key; optional group value (LIST) { repeated group list {"
                + " optional int64 element; } } } }",
            "MAP<INT, ARRAY<BIGINT>>",
            metadata));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "time | optional int64 c = 3 | optional int64 c (TIME(MICROS,false)) = 3",
        "timestamp_ns | optional int64 c | optional int64 c (TIMESTAMP(NANOS,false))",
        "timestamptz_ns | optional int64 c | optional int64 c (TIMESTAMP(NANOS,true))",
        "uuid | optional binary c = 3 | optional fixed_len_byte_array(16) c (UUID) = 3",
        "fixed 7 | optional binary c | optional fixed_len_byte_array(7) c",
      })
  void typesThatSparkDoesNotHaveAreWritten(String type, String from, String to) {
    Metadata metadata =
        builder()
            .putMetadata(
                FieldIdWriteSupport.TYPES,
                builder().putString(FieldIdWriteSupport.ITSELF, type).build())
            .build();
    assertEquals(parsed(to + ";"), schema(from + ";", "BIGINT", metadata));
  }

  @ParameterizedTest
  @CsvSource({"geometry OGC:CRS84, GEOMETRY", "geography VINCENTY OGC:CRS84, GEOGRAPHY"})
  void geospatialTypesHaveTheirParameters(String type, String expected) {
    Metadata metadata =
        builder()
            .putMetadata(
                FieldIdWriteSupport.TYPES,
                builder().putString(FieldIdWriteSupport.ITSELF, type).build())
            .build();
    String schema = schema("optional binary c;", "BINARY", metadata);
    assertEquals(true, schema.contains(expected), schema);
  }

  @Test
  void unknownTypeFails() {
    Metadata metadata =
        builder()
            .putMetadata(
                FieldIdWriteSupport.TYPES,
                builder().putString(FieldIdWriteSupport.ITSELF, "other").build())
            .build();
    assertThrows(
        IllegalArgumentException.class, () -> schema("optional int64 c;", "BIGINT", metadata));
  }

  @Test
  void requiredPartsAreRequired() {
    Metadata metadata =
        builder()
            .putStringArray(
                FieldIdWriteSupport.REQUIRED,
                List.of(FieldIdWriteSupport.ITSELF, "element").toArray(new String[0]))
            .build();
    assertEquals(
        parsed(
            "required group c (LIST) = 2 { repeated group list { required binary element (STRING);"
                + " } }"),
        schema(
            "optional group c (LIST) = 2 { repeated group list { optional binary element (STRING);"
                + " } }",
            "ARRAY<STRING>",
            metadata));
  }

  @Test
  void fieldsOfStructsHaveTheirOwnMetadata() {
    StructField inner =
        new StructField(
            "l",
            StructType.fromDDL("l ARRAY<INT>").fields()[0].dataType(),
            true,
            builder()
                .putMetadata(
                    FieldIdWriteSupport.NESTED_IDS, builder().putLong("element", 9).build())
                .build());
    StructType row =
        new StructType(
            new StructField[] {
              new StructField(
                  "s", new StructType(new StructField[] {inner}), true, Metadata.empty())
            });
    MessageType type =
        MessageTypeParser.parseMessageType(
            "message m { optional group s { optional group l (LIST) { repeated group list {"
                + " optional int32 element; } } } }");
    assertEquals(
        parsed(
            "optional group s { optional group l (LIST) { repeated group list {"
                + " optional int32 element = 9; } } }"),
        new MessageType("m", FieldIdWriteSupport.fields(type, row)).toString());
  }

  @Test
  void schemaWithoutMetadataIsUnchanged() {
    String schema =
        "optional group c (MAP) { repeated group key_value { required int32 key; optional int32"
            + " value; } }";
    assertEquals(parsed(schema), schema(schema, "MAP<INT, INT>", Metadata.empty()));
  }
}
