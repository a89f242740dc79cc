package deltagateway.connect;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.guard.PlanGuard;
import deltagateway.guard.TypeTexts;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.connect.proto.Aggregate;
import org.apache.spark.connect.proto.CallFunction;
import org.apache.spark.connect.proto.DataType;
import org.apache.spark.connect.proto.Deduplicate;
import org.apache.spark.connect.proto.Expression;
import org.apache.spark.connect.proto.LocalRelation;
import org.apache.spark.connect.proto.Read;
import org.apache.spark.connect.proto.Relation;
import org.apache.spark.connect.proto.RelationCommon;
import org.apache.spark.connect.proto.Sample;
import org.apache.spark.connect.proto.SubqueryAlias;
import org.apache.spark.connect.proto.UnresolvedTableValuedFunction;
import org.apache.spark.connect.proto.WithRelations;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.classic.SparkSession;
import org.sparkproject.connect.protobuf.Descriptors.Descriptor;
import org.sparkproject.connect.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.connect.protobuf.Message;

/**
 * Check of a relation's message, fail closed: each message in it must be of a kind in the list, and
 * have no field that this version of the protocol lacks.
 *
 * <p>Not in the list are relations that run code of the client (functions, data sources), that read
 * something by a name or a handle (SQL texts, paths, cached relations, the catalog), that write or
 * stream, and relations for which the planner runs a job, before a statement's limits apply: SHOW,
 * TRANSPOSE, statistics that become a constant, and PIVOT without values.
 *
 * <p>The result has the statement's relations in place of the named tables, which must be inputs of
 * the DataFrame, and no origins: these are lines of the client's program.
 */
final class AllowedMessages {
  private static final String PACKAGE = "spark.connect.";

  private static final Set<String> MESSAGES =
      Stream.of(
              "Relation RelationCommon Aggregate Aggregate.GroupingSets Aggregate.Pivot AsOfJoin"
                  + " CollectMetrics Deduplicate Drop Filter Hint Join Join.JoinDataType"
                  + " LateralJoin Limit LocalRelation NADrop NAFill NAReplace NAReplace.Replacement"
                  + " Offset Project Range Repartition RepartitionByExpression Sample SetOperation"
                  + " Sort StatDescribe StatSummary SubqueryAlias Tail ToDF ToSchema Unpivot"
                  + " Unpivot.Values UnresolvedTableValuedFunction WithColumns WithColumnsRenamed"
                  + " WithColumnsRenamed.Rename WithColumnsRenamed.RenameColumnsMapEntry"
                  + " WithRelations",
              "Expression CallFunction Expression.Alias Expression.Cast"
                  + " Expression.ExpressionString Expression.LambdaFunction Expression.SortOrder"
                  + " Expression.UnresolvedAttribute Expression.UnresolvedExtractValue"
                  + " Expression.UnresolvedFunction Expression.UnresolvedNamedLambdaVariable"
                  + " Expression.UnresolvedRegex Expression.UnresolvedStar Expression.UpdateFields"
                  + " Expression.Window Expression.Window.WindowFrame"
                  + " Expression.Window.WindowFrame.FrameBoundary NamedArgumentExpression"
                  + " SubqueryExpression",
              "Expression.Literal Expression.Literal.Array Expression.Literal.CalendarInterval"
                  + " Expression.Literal.Decimal Expression.Literal.Map"
                  + " Expression.Literal.SpecializedArray Expression.Literal.Struct"
                  + " Expression.Literal.Time Bools Bytes Doubles Floats Ints Longs Strings",
              "DataType DataType.Array DataType.Binary DataType.Boolean DataType.Byte"
                  + " DataType.CalendarInterval DataType.Char DataType.Date"
                  + " DataType.DayTimeInterval DataType.Decimal DataType.Double DataType.Float"
                  + " DataType.Integer DataType.Long DataType.Map DataType.NULL DataType.Short"
                  + " DataType.String DataType.Struct DataType.StructField DataType.Time"
                  + " DataType.Timestamp DataType.TimestampNTZ DataType.Unparsed DataType.VarChar"
                  + " DataType.UDT DataType.Variant DataType.YearMonthInterval")
          .flatMap(kinds -> Stream.of(kinds.split(" ")))
          .map(PACKAGE::concat)
          .collect(Collectors.toUnmodifiableSet());

  /** Functions that the planner replaces by expressions. */
  private static final Set<String> OF_PLANNER = Set.of("in", "when");

  /** Column by whose values rows are sorted before they are sampled. */
  private static final String ORDER = "__gateway_order";

  private final SparkSession spark;
  private final PlanGuard guard;
  private final Map<String, StatementRequest.FrameInput> inputs;

  AllowedMessages(
      SparkSession spark, PlanGuard guard, Map<String, StatementRequest.FrameInput> inputs) {
    this.spark = spark;
    this.guard = guard;
    this.inputs = inputs;
  }

  Relation relation(Relation relation) {
    return (Relation) allowed(relation);
  }

  private Message allowed(Message message) {
    String kind = message.getDescriptorForType().getFullName();
    if (!MESSAGES.contains(kind)) throw rejection(message.getDescriptorForType());
    if (!message.getUnknownFields().asMap().isEmpty())
      throw new RejectionException("DataFrame", "with an unknown field of " + simple(kind));
    ensureAllowed(message);
    if (message instanceof RelationCommon common) return withoutOrigin(common);
    if (message instanceof LocalRelation rows && rows.hasSchema())
      return rows.toBuilder().setSchema(UserTypes.withoutClasses(rows.getSchema())).build();
    if (message instanceof DataType.UDT type)
      return withAllowedFields(UserTypes.withoutClass(type));
    if (message instanceof Relation relation && relation.hasRead()) return ofInput(relation);
    if (message instanceof Relation relation && relation.hasSampleBy())
      return allowed(StrataSamples.filtered(relation));
    if (message instanceof Sample sample && sample.getDeterministicOrder())
      return withAllowedFields(ofSortedRows(sample));
    return withAllowedFields(message);
  }

  private static RelationCommon withoutOrigin(RelationCommon common) {
    RelationCommon.Builder id = RelationCommon.newBuilder();
    return (common.hasPlanId() ? id.setPlanId(common.getPlanId()) : id).build();
  }

  private Message withAllowedFields(Message message) {
    Message.Builder changed = message.toBuilder();
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      FieldDescriptor descriptor = field.getKey();
      if (descriptor.getJavaType() != FieldDescriptor.JavaType.MESSAGE) continue;
      if (message instanceof Expression && descriptor.getName().equals("common")) {
        changed.clearField(descriptor);
      } else if (descriptor.isRepeated()) {
        changed.clearField(descriptor);
        for (Object item : (List<?>) field.getValue())
          changed.addRepeatedField(descriptor, allowed((Message) item));
      } else {
        changed.setField(descriptor, allowed((Message) field.getValue()));
      }
    }
    return changed.build();
  }

  /** Checks the fields on whose values the decision depends. */
  private void ensureAllowed(Message message) {
    if (message instanceof Expression.UnresolvedFunction call) {
      if (call.getIsInternal()) throw function(call.getFunctionName());
      ensureFunction(call.getFunctionName());
    } else if (message instanceof CallFunction call) {
      ensureFunction(call.getFunctionName());
    } else if (message instanceof UnresolvedTableValuedFunction call) {
      guard.ensureTableFunction(call.getFunctionName());
    } else if (message instanceof Expression.ExpressionString text) {
      ensureExpression(text.getExpression());
    } else if (message instanceof Aggregate.Pivot pivot) {
      if (pivot.getValuesCount() == 0) throw part("a pivot without values");
    } else if (message instanceof Deduplicate deduplicate) {
      if (deduplicate.getWithinWatermark()) throw part("dropDuplicatesWithinWatermark");
    } else if (message instanceof WithRelations with) {
      if (with.getRoot().hasSql()) throw rejection(with.getRoot().getSql().getDescriptorForType());
    } else {
      ensureTypes(message);
    }
  }

  private static void ensureTypes(Message message) {
    if (message instanceof Expression.Alias alias) ensureMetadata(alias.getMetadata());
    else if (message instanceof DataType.StructField field) ensureMetadata(field.getMetadata());
    else if (message instanceof DataType.Unparsed type) ensureType(type.getDataTypeString());
    else if (message instanceof Expression.Cast cast) ensureType(cast.getTypeStr());
    else if (message instanceof LocalRelation relation) {
      ensureType(UserTypes.withoutClasses(relation.getSchema()));
      LocalRows.ensureValid(relation.getData());
    }
  }

  private void ensureFunction(String name) {
    if (!OF_PLANNER.contains(name)) guard.ensureFunction(name);
  }

  /** Checks an expression's text, which may read no relation. */
  private void ensureExpression(String text) {
    try {
      guard.ensureMayAnalyzeText(spark.sessionState().sqlParser().parseExpression(text));
    } catch (ParseException failure) {
      // The planner parses the text again, and fails.
    }
  }

  /** Checks a type that may be JSON, in which a type may be a class that is loaded by its name. */
  private static void ensureType(String text) {
    JsonNode json = TypeTexts.json(text);
    String rejected = json == null ? null : TypeTexts.rejectedPart(json);
    if (rejected != null) throw part(rejected);
  }

  static void ensureMetadata(String text) {
    JsonNode json = TypeTexts.json(text); // null: it is empty, or Spark rejects it
    String rejected = json == null ? null : TypeTexts.rejectedMetadata(json);
    if (rejected != null) throw part(rejected);
  }

  /** Returns the statement's relation for a named table, which keeps the id of its DataFrame. */
  private Relation ofInput(Relation relation) {
    Read read = relation.getRead();
    if (!read.hasNamedTable() || read.getIsStreaming())
      throw rejection(read.getDescriptorForType());
    Read.NamedTable table = read.getNamedTable();
    StatementRequest.FrameInput input = inputs.get(table.getUnparsedIdentifier());
    if (input == null) throw new RejectionException("relation", table.getUnparsedIdentifier());
    if (table.getOptionsCount() > 0) throw part("options of a named table");
    if (!table.getUnknownFields().asMap().isEmpty() || !read.getUnknownFields().asMap().isEmpty())
      throw part("an unknown field of Read");
    Relation.Builder rows = Relation.newBuilder();
    rows.getReadBuilder().getNamedTableBuilder().setUnparsedIdentifier(input.relation());
    RelationCommon common = withoutOrigin(relation.getCommon());
    List<String> alias = input.alias();
    if (alias.isEmpty()) return rows.setCommon(common).build();
    int last = alias.size() - 1;
    SubqueryAlias.Builder named =
        SubqueryAlias.newBuilder()
            .setInput(rows)
            .setAlias(alias.get(last))
            .addAllQualifier(alias.subList(0, last));
    return Relation.newBuilder().setCommon(common).setSubqueryAlias(named).build();
  }

  /**
   * Returns a sample of the rows in the order of their values, as the planner would make it: that
   * caches rows which it cannot sort, in a cache of all sessions.
   */
  private static Sample ofSortedRows(Sample sample) {
    Expression.Builder all = Expression.newBuilder();
    all.getUnresolvedFunctionBuilder()
        .setFunctionName("struct")
        .addArgumentsBuilder()
        .setUnresolvedStar(Expression.UnresolvedStar.getDefaultInstance());
    Relation.Builder added = Relation.newBuilder();
    added
        .getWithColumnsBuilder()
        .setInput(sample.getInput())
        .addAliasesBuilder()
        .setExpr(all)
        .addName(ORDER);
    Relation.Builder sorted = Relation.newBuilder();
    sorted
        .getSortBuilder()
        .setInput(added)
        .setIsGlobal(false)
        .addOrderBuilder()
        .setDirection(Expression.SortOrder.SortDirection.SORT_DIRECTION_ASCENDING)
        .getChildBuilder()
        .getUnresolvedAttributeBuilder()
        .setUnparsedIdentifier(ORDER);
    Relation.Builder rows = Relation.newBuilder();
    rows.getDropBuilder().setInput(sorted).addColumnNames(ORDER);
    return sample.toBuilder().clearDeterministicOrder().setInput(rows).build();
  }

  private static RejectionException function(String name) {
    return new RejectionException("function", name);
  }

  static RejectionException part(String part) {
    return new RejectionException("DataFrame", "with " + part);
  }

  private static RejectionException rejection(Descriptor kind) {
    return new RejectionException("relation or expression", simple(kind.getFullName()));
  }

  private static String simple(String kind) {
    return kind.substring(kind.startsWith(PACKAGE) ? PACKAGE.length() : 0);
  }
}
