package deltagateway.scan.objectstore;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.PositionedReadable;
import org.apache.hadoop.fs.Seekable;

/**
 * A file whose end is known ({@link FileTail}). What comes before it is read by one request for all
 * ranges that are asked for together, where not much between them is read for nothing.
 */
public final class PrefetchedTailStream extends InputStream
    implements Seekable, PositionedReadable {
  /** Bytes between two ranges that take less time than another request. */
  private static final long GAP_MAX = 1 << 20;

  /** Bytes of one request: of more, several at once are quicker. */
  private static final long SPAN_MAX = 128 << 20;

  /** How much is read at once by those who read on. */
  private static final int AHEAD = 1 << 20;

  private static final byte[] NOTHING = new byte[0];

  private final FileTail end;
  private final FSDataInputStream rest;
  private long at;
  private byte[] ahead = NOTHING;
  private long aheadStart;

  PrefetchedTailStream(FileTail end, FSDataInputStream rest) {
    this.end = end;
    this.rest = rest;
  }

  public void seek(long position) throws IOException {
    if (position < 0 || position > end.length)
      throw new EOFException(end.file + " has no byte " + position);
    at = position;
  }

  public long getPos() {
    return at;
  }

  public boolean seekToNewSource(long position) {
    return false;
  }

  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  public int read(byte[] to, int offset, int count) throws IOException {
    int read = read(at, to, offset, count);
    if (read > 0) at += read;
    return read;
  }

  public int read(long position, byte[] to, int offset, int count) throws IOException {
    if (count == 0) return 0;
    if (position >= end.length) return -1;
    if (position >= end.start) return copied(end.bytes, end.start, position, to, offset, count);
    if (position < aheadStart || position >= aheadStart + ahead.length) {
      byte[] next = new byte[(int) Math.min(Math.max(AHEAD, count), end.start - position)];
      rest.readFully(position, next);
      ahead = next;
      aheadStart = position;
    }
    return copied(ahead, aheadStart, position, to, offset, count);
  }

  private static int copied(
      byte[] from, long start, long position, byte[] to, int offset, int count) {
    int copied = (int) Math.min(count, start + from.length - position);
    System.arraycopy(from, (int) (position - start), to, offset, copied);
    return copied;
  }

  public void readFully(long position, byte[] to, int offset, int count) throws IOException {
    for (int done = 0; done < count; ) {
      int read = read(position + done, to, offset + done, count - done);
      if (read < 0) throw new EOFException(end.file + " ends before byte " + (position + count));
      done += read;
    }
  }

  public void readFully(long position, byte[] to) throws IOException {
    readFully(position, to, 0, to.length);
  }

  public void readVectored(List ranges, IntFunction allocate) throws IOException {
    List<FileRange> sorted = new ArrayList<>(ranges);
    Collections.sort(
        sorted,
        new Comparator() {
          public int compare(Object one, Object other) {
            return Long.compare(((FileRange) one).getOffset(), ((FileRange) other).getOffset());
          }
        });
    List<FileRange> spans = new ArrayList<>();
    List<List<FileRange>> members = new ArrayList<>();
    for (int from = 0; from < sorted.size(); ) {
      long first = sorted.get(from).getOffset();
      long reached = reach(sorted, from);
      int to = from + 1;
      while (to < sorted.size() && goesOn(sorted, to, first, reached))
        reached = Math.max(reached, reach(sorted, to++));
      if (first < end.start) {
        spans.add(FileRange.createFileRange(first, (int) (Math.min(reached, end.start) - first)));
        members.add(sorted.subList(from, to));
      } else {
        for (int i = from; i < to; i++) setFromEnd(sorted.get(i), allocate);
      }
      from = to;
    }
    if (spans.isEmpty()) return;
    rest.readVectored(spans, allocate); // each by one request, all at once
    for (int i = 0; i < spans.size(); i++) {
      FileRange span = spans.get(i);
      List<FileRange> within = members.get(i);
      for (int j = 0; j < within.size(); j++) setFromSpan(within.get(j), span, allocate);
    }
  }

  public void readVectored(List ranges, IntFunction allocate, Consumer release) throws IOException {
    readVectored(ranges, allocate);
  }

  private static long reach(List<FileRange> ranges, int index) {
    FileRange range = ranges.get(index);
    return range.getOffset() + range.getLength();
  }

  /**
   * Whether a range is read with those before it, which are from `first` to the byte before
   * `reached`.
   */
  private boolean goesOn(List<FileRange> ranges, int index, long first, long reached) {
    long offset = ranges.get(index).getOffset();
    if (offset >= end.start) return first >= end.start;
    return offset - reached <= GAP_MAX
        && Math.max(reached, reach(ranges, index)) - first <= SPAN_MAX;
  }

  private void setFromEnd(FileRange range, IntFunction<ByteBuffer> allocate) throws IOException {
    byte[] bytes = new byte[range.getLength()];
    readFully(range.getOffset(), bytes);
    range.setData(CompletableFuture.completedFuture(filled(bytes, allocate)));
  }

  private static ByteBuffer filled(byte[] bytes, IntFunction<ByteBuffer> allocate) {
    ByteBuffer buffer = allocate.apply(bytes.length);
    buffer.put(bytes);
    buffer.flip();
    return buffer;
  }

  /** A range of which at least the first byte is in the span; what is not is in the end. */
  private void setFromSpan(
      final FileRange range, final FileRange span, final IntFunction<ByteBuffer> allocate) {
    final int from = (int) (range.getOffset() - span.getOffset());
    final int inSpan = (int) Math.min(range.getLength(), end.start - range.getOffset());
    range.setData(
        span.getData()
            .thenApply(
                new Function() {
                  public Object apply(Object read) {
                    ByteBuffer part = ((ByteBuffer) read).duplicate();
                    part.position(part.position() + from);
                    part.limit(part.position() + inSpan);
                    if (inSpan == range.getLength()) return part.slice();
                    byte[] bytes = new byte[range.getLength()];
                    part.get(bytes, 0, inSpan);
                    System.arraycopy(end.bytes, 0, bytes, inSpan, bytes.length - inSpan);
                    return filled(bytes, allocate);
                  }
                }));
  }

  public void close() throws IOException {
    rest.close();
  }
}
