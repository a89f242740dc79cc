package deltagateway;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeSet;
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
  private final Map estimates = new HashMap();
  /** Of which it does not matter which they are; 0: all. */
  private long rowsWanted;
  private boolean leavesOut;

  /** A question has the statement, the scan, filters and the zone. */
  FileListing(Questions questions, String statementId, int scan, StructType constants, String timeZone) {
    this.questions = questions;
    this.statementId = statementId;
    this.scan = scan;
    this.constants = constants;
    this.timeZone = timeZone;
  }

  /** From now on the files that are listed need not have more than so many rows that the filters leave; 0: all. */
  synchronized void want(long rows) {
    rowsWanted = rows;
    leavesOut = false;
  }

  /** Whether files were left out that may have such rows. */
  synchronized boolean leavesOut() {
    return leavesOut;
  }

  /** The files that the filters leave, and perhaps more. */
  synchronized FileList list(
      scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    ObjectNode question = question(partitionFilters, dataFilters);
    if (rowsWanted > 0) question.put("rows", rowsWanted);
    String text = question.toString();
    FileList answer = (FileList) answers.get(text);
    if (answer == null) {
      answer = ask(question);
      answers.put(text, answer);
    }
    leavesOut |= answer.isPart();
    return answer;
  }

  /** Of the files that the filters leave, and of columns by their names. They are not said to be read. */
  synchronized Estimate estimate(scala.collection.immutable.Seq filters, Collection columns) {
    ObjectNode question = question(filters, Scala.seq(new ArrayList()));
    ArrayNode asked = question.putArray("estimate");
    for (Iterator names = new TreeSet(columns).iterator(); names.hasNext(); ) asked.add((String) names.next());
    String text = question.toString();
    Estimate answer = (Estimate) estimates.get(text);
    if (answer == null) {
      try {
        answer = new Estimate(questions.value(question));
      } catch (IOException failure) {
        throw new IllegalStateException("no estimate", failure);
      }
      estimates.put(text, answer);
    }
    return answer;
  }

  private ObjectNode question(
      scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    ObjectNode question = Request.JSON.createObjectNode();
    question.put("statement", statementId).put("scan", scan).put("zone", timeZone);
    question.set("filters", FilterTree.of(partitionFilters, dataFilters));
    return question;
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
