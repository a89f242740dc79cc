package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ArrayNode;
import deltagateway.TestSpark;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceMetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Filters as they are sent to Python. */
@Tag("spark")
class FilterJsonTest {
  private static final String RELATION =
      "VALUES (1, 'a', 1.50, 2.5D, date'2024-02-29', timestamp'2024-02-29 12:00:00', X'00ff',"
          + " named_struct('x', named_struct('y', 1)), true) AS t(i, s, d, f, day, time, b, n,"
          + " yes)";

  private static ArrayNode tree(String... conditions) {
    List<Expression> filters = new ArrayList<>();
    for (String condition : conditions) filters.add(TestSpark.condition(condition, RELATION));
    return new FilterJson(null).of(seq(new ArrayList<>()), seq(filters));
  }

  private static Seq<Expression> seq(List<Expression> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "i = 1 | ['=',['column','i'],['literal','integer',1]]",
        "i <=> NULL | ['<=>',['column','i'],['cast',['literal','void',null],'integer']]",
        "i < 1 | ['<',['column','i'],['literal','integer',1]]",
        "i <= 1 | ['<=',['column','i'],['literal','integer',1]]",
        "1 > i | ['>',['literal','integer',1],['column','i']]",
        "i >= 1 | ['>=',['column','i'],['literal','integer',1]]",
        "NOT yes | ['not',['column','yes']]",
        "yes = false | ['=',['column','yes'],['literal','boolean',false]]",
        "i = 1 AND s = 'x' |"
            + " ['and',['=',['column','i'],['literal','integer',1]],['=',['column','s'],['literal','string','x']]]",
        "i = 1 OR yes | ['or',['=',['column','i'],['literal','integer',1]],['column','yes']]",
        "i IN (1, 2) | ['in',['column','i'],['literal','integer',1],['literal','integer',2]]",
        "i IS NULL | ['is null',['column','i']]",
        "i IS NOT NULL | ['is not null',['column','i']]",
        "startswith(s, 'x') | ['starts with',['column','s'],['literal','string','x']]",
        "n.x.y = 1 | ['=',['column','n','x','y'],['literal','integer',1]]",
        "d = 1.25 | ['=',['column','d'],['literal','decimal(3,2)','1.25']]",
        "f = 0.1D | ['=',['column','f'],['literal','double','0.1']]",
        "f = double('NaN') | ['=',['column','f'],['cast',['literal','string','NaN'],'double']]",
        "day = date'2024-03-01' | ['=',['column','day'],['literal','date',19783]]",
        "time = timestamp'1970-01-01 00:00:01' |"
            + " ['=',['column','time'],['literal','timestamp',1000000]]",
        "b = X'00ff' | ['=',['column','b'],['literal','binary','AP8=']]",
        "bigint(i) = 1L | ['=',['cast',['column','i'],'long'],['literal','long',1]]",
        "s = 'ä\u0001' | ['=',['column','s'],['literal','string','ä\\u0001']]",
        "length(s) = 1 | ['=',null,['literal','integer',1]]",
        "array(n)[0].x.y = 1 | ['=',null,['literal','integer',1]]",
      })
  void filterIsATreeOfItsKindAndParts(String condition, String expected) {
    assertEquals("[" + expected.replace('\'', '"') + "]", tree(condition).toString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "s LIKE '%x' | []",
        "s RLIKE 'x' | []",
        "i = 1 OR s RLIKE 'x' | [['or',['=',['column','i'],['literal','integer',1]],null]]",
        "NOT (s RLIKE 'x') | [['not',null]]",
        "s IN ('x', upper(s)) | [['in',['column','s'],['literal','string','x'],null]]",
      })
  void partOfAnotherKindIsNull(String condition, String expected) {
    assertEquals(expected.replace('\'', '"'), tree(condition).toString());
  }

  @Test
  void sameFiltersAreTheSameQuestion() {
    assertEquals(tree("i = 1", "s = 'x'"), tree("s = 'x'", "i = 1", "i = 1"));
    assertEquals("[]", tree().toString());
  }

  private static String json(Expression filter) {
    return new FilterJson(null).of(seq(new ArrayList<>()), seq(List.of(filter))).toString();
  }

  @Test
  void setOfConstantsIsAListOfThem() {
    Expression column = TestSpark.condition("i = 1", RELATION).children().head();
    assertEquals(
        "[[\"in\",[\"column\",\"i\"],[\"literal\",\"integer\",7]]]",
        json(new InSet(column, CollectionConverters.asScala(Set.<Object>of(7)).toSet())));
  }

  @Test
  void filterThatIsKnownToBeNotNullIsTheFilter() {
    Expression filter = TestSpark.condition("i = 1", RELATION);
    assertEquals(json(filter), json(new KnownNotNull(filter)));
  }

  @Test
  void bytesThatAreNotUtf8AreNoText() {
    Expression column = TestSpark.condition("s = 'x'", RELATION).children().head();
    UTF8String bytes = UTF8String.fromBytes(new byte[] {(byte) 0xff});
    assertEquals(
        "[[\"=\",[\"column\",\"s\"],null]]",
        json(new EqualTo(column, new Literal(bytes, DataTypes.StringType))));
  }

  @Test
  void fieldOfTheMetadataIsUnknownAlsoIfAColumnHasItsName() {
    AttributeReference column =
        (AttributeReference) TestSpark.condition("s = 'x'", RELATION).children().head();
    Expression field = FileSourceMetadataAttribute$.MODULE$.apply("s", DataTypes.StringType, true);
    assertEquals("[[\"is null\",[\"column\",\"s\"]]]", json(new IsNull(column)));
    assertEquals("[[\"is null\",null]]", json(new IsNull(field)));
  }
}
