package deltagateway;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/**
 * The files of one scan, asked for when Spark plans with its filters: Python answers from the log's statistics with the
 * files that may hold matching rows, and no others cross over. A question is asked once, however often Spark plans.
 */
final class FileListing {
  private final Questions questions;
  private final String statementId;
  private final int scan;
  private final StructType constants;
  private final String timeZone;
  private final Map answers = new HashMap();

  /** A question has the statement, the scan, filters and the zone. */
  FileListing(Questions questions, String statementId, int scan, StructType constants, String timeZone) {
    this.questions = questions;
    this.statementId = statementId;
    this.scan = scan;
    this.constants = constants;
    this.timeZone = timeZone;
  }

  /** The files that the filters leave, and perhaps more. */
  synchronized FileList list(
      scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    ObjectNode question = Request.JSON.createObjectNode();
    question.put("statement", statementId).put("scan", scan).put("zone", timeZone);
    question.set("filters", FilterTree.of(partitionFilters, dataFilters));
    String text = question.toString();
    FileList answer = (FileList) answers.get(text);
    if (answer == null) {
      answer = ask(question);
      answers.put(text, answer);
    }
    return answer;
  }

  private FileList ask(ObjectNode question) {
    try {
      return questions.files(question, constants, timeZone);
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException("no list of files", failure);
    }
  }
}
