package deltagateway.scan;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.ScanEstimate;
import deltagateway.protocol.FilterJson;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.StatementRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.StructType;

/**
 * The files of one scan, asked for when Spark plans with its filters: Python answers from the log's
 * statistics with the files that may hold matching rows, and no others cross over. A question is
 * asked once, however often Spark plans.
 */
public final class FileListing {
  private final PythonCallbacks questions;
  private final String statementId;
  private final int scan;
  private final StructType constants;
  private final String timeZone;

  /** Question -> {@link Asked}. */
  private final Map<String, Asked> answers = new LinkedHashMap<>();

  private final Map<String, ScanEstimate> estimates = new HashMap<>();

  /** Of which it does not matter which they are; 0: all. */
  private long rowsWanted;

  private boolean leavesOut;
  private ComputedColumns shown;

  /** A question has the statement, the scan, filters and the zone. */
  public FileListing(
      PythonCallbacks questions,
      String statementId,
      int scan,
      StructType constants,
      String timeZone) {
    this.questions = questions;
    this.statementId = statementId;
    this.scan = scan;
    this.constants = constants;
    this.timeZone = timeZone;
  }

  /** Before anything is asked: columns of the scan that are made of what is read. */
  public void show(ComputedColumns columns) {
    shown = columns;
  }

  /**
   * From now on the files that are listed need not have more than so many rows that the filters
   * leave; 0: all.
   */
  public synchronized void want(long rows) {
    rowsWanted = rows;
    leavesOut = false;
  }

  /** Whether files were left out that may have such rows. */
  public synchronized boolean leavesOut() {
    return leavesOut;
  }

  /** The files that the filters leave, and perhaps more. */
  synchronized ScanFiles list(
      scala.collection.immutable.Seq<Expression> partitionFilters,
      scala.collection.immutable.Seq<Expression> dataFilters) {
    ObjectNode question = question(partitionFilters, dataFilters);
    if (rowsWanted > 0) question.put("rows", rowsWanted);
    String text = question.toString();
    Asked asked = answers.get(text);
    if (asked == null) {
      asked = new Asked(partitionFilters, dataFilters, ask(question));
      answers.put(text, asked);
    }
    leavesOut |= asked.answer.isPart();
    return asked.answer;
  }

  /** All that was asked so far for files. */
  public synchronized List<Asked> asked() {
    return new ArrayList<>(answers.values());
  }

  /** Whether what was asked elsewhere has the same answers here. */
  public boolean answers(List<Asked> elsewhere) {
    for (int i = 0; i < elsewhere.size(); i++) {
      Asked asked = elsewhere.get(i);
      if (!list(asked.partitionFilters, asked.dataFilters).isSame(asked.answer)) return false;
    }
    return true;
  }

  /**
   * Of the files that the filters leave, and of columns by their names. They are not said to be
   * read.
   */
  public synchronized ScanEstimate estimate(
      scala.collection.immutable.Seq<Expression> filters, Collection<String> columns) {
    ObjectNode question = question(filters, ScalaConversions.seq(new ArrayList<>()));
    ArrayNode asked = question.putArray("estimate");
    for (Iterator<String> names = new TreeSet<>(columns).iterator(); names.hasNext(); )
      asked.add(names.next());
    String text = question.toString();
    ScanEstimate answer = estimates.get(text);
    if (answer == null) {
      try {
        answer = new ScanEstimate(questions.value(question));
      } catch (IOException failure) {
        throw new IllegalStateException("no estimate", failure);
      }
      estimates.put(text, answer);
    }
    return answer;
  }

  private ObjectNode question(
      scala.collection.immutable.Seq<Expression> partitionFilters,
      scala.collection.immutable.Seq<Expression> dataFilters) {
    ObjectNode question = StatementRequest.JSON.createObjectNode();
    question.put("statement", statementId).put("scan", scan).put("zone", timeZone);
    question.set("filters", new FilterJson(shown).of(partitionFilters, dataFilters));
    return question;
  }

  private ScanFiles ask(ObjectNode question) {
    try {
      return questions.files(question, constants, timeZone);
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException("no list of files", failure);
    }
  }

  /** The filters that files were asked for by, and those files. */
  public static final class Asked {
    final scala.collection.immutable.Seq<Expression> partitionFilters;
    final scala.collection.immutable.Seq<Expression> dataFilters;
    public final ScanFiles answer;

    Asked(
        scala.collection.immutable.Seq<Expression> partitionFilters,
        scala.collection.immutable.Seq<Expression> dataFilters,
        ScanFiles answer) {
      this.partitionFilters = partitionFilters;
      this.dataFilters = dataFilters;
      this.answer = answer;
    }
  }
}
