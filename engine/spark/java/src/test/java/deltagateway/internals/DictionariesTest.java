package deltagateway.internals;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.values.dictionary.PlainValuesDictionary;
import org.apache.spark.sql.execution.datasources.parquet.ParquetDictionary;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

class DictionariesTest {
  private static PlainValuesDictionary ofChunk() throws Exception {
    byte[] page = {1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b'};
    return new PlainValuesDictionary.PlainBinaryDictionary(
        new DictionaryPage(BytesInput.from(page), 2, Encoding.PLAIN));
  }

  private static OnHeapColumnVector batch(PlainValuesDictionary dictionary) {
    OnHeapColumnVector vector = new OnHeapColumnVector(1, DataTypes.StringType);
    vector.setDictionary(new ParquetDictionary(dictionary, false));
    return vector;
  }

  @Test
  void batchesOfOneColumnChunkHaveTheSameIdentity() throws Exception {
    PlainValuesDictionary chunk = ofChunk();
    assertSame(chunk, Dictionaries.identity(batch(chunk)));
    assertSame(Dictionaries.identity(batch(chunk)), Dictionaries.identity(batch(chunk)));
    assertNotSame(Dictionaries.identity(batch(chunk)), Dictionaries.identity(batch(ofChunk())));
  }

  @Test
  void vectorWithoutDictionaryHasNone() {
    assertNull(Dictionaries.identity(new OnHeapColumnVector(1, DataTypes.StringType)));
  }
}
