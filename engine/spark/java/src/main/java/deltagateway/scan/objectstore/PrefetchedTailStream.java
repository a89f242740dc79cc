package deltagateway.scan.objectstore;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.PositionedReadable;
import org.apache.hadoop.fs.Seekable;

/**
 * Input stream of a file whose tail is in memory ({@link FileTail}). Ranges before the tail that
 * are requested together, with small gaps between them, are read by one request.
 */
final class PrefetchedTailStream extends InputStream implements Seekable, PositionedReadable {
  /** Bytes between two ranges that take less time than another request. */
  static final long GAP_BYTES_MAX = 1 << 20;

  /** Bytes of one request; more are faster by several requests at once. */
  private static final long SPAN_BYTES_MAX = 128 << 20;

  /** Bytes that sequential reads read ahead. */
  static final int AHEAD_BYTES = 1 << 20;

  private final FileTail tail;
  private final FSDataInputStream rest;
  private long position;
  private byte[] ahead = new byte[0];
  private long aheadStart;

  PrefetchedTailStream(FileTail tail, FSDataInputStream rest) {
    this.tail = tail;
    this.rest = rest;
  }

  @Override
  public void seek(long target) throws IOException {
    if (target < 0 || target > tail.length)
      throw new EOFException(tail.file + " has no byte " + target);
    position = target;
  }

  @Override
  public long getPos() {
    return position;
  }

  @Override
  public boolean seekToNewSource(long target) {
    return false;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] to, int offset, int count) throws IOException {
    int read = read(position, to, offset, count);
    if (read > 0) position += read;
    return read;
  }

  @Override
  public int read(long from, byte[] to, int offset, int count) throws IOException {
    if (count == 0) return 0;
    if (from >= tail.length) return -1;
    if (from >= tail.start) return copy(tail.bytes, tail.start, from, to, offset, count);
    if (from < aheadStart || from >= aheadStart + ahead.length) {
      byte[] next = new byte[(int) Math.min(Math.max(AHEAD_BYTES, count), tail.start - from)];
      rest.readFully(from, next);
      ahead = next;
      aheadStart = from;
    }
    return copy(ahead, aheadStart, from, to, offset, count);
  }

  private static int copy(byte[] source, long start, long from, byte[] to, int offset, int count) {
    int copied = (int) Math.min(count, start + source.length - from);
    System.arraycopy(source, (int) (from - start), to, offset, copied);
    return copied;
  }

  @Override
  public void readFully(long from, byte[] to, int offset, int count) throws IOException {
    for (int done = 0; done < count; ) {
      int read = read(from + done, to, offset + done, count - done);
      if (read < 0) throw new EOFException(tail.file + " ends before byte " + (from + count));
      done += read;
    }
  }

  @Override
  public void readFully(long from, byte[] to) throws IOException {
    readFully(from, to, 0, to.length);
  }

  @Override
  public void readVectored(List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate)
      throws IOException {
    List<FileRange> sorted = new ArrayList<>(ranges);
    sorted.sort(Comparator.comparingLong(FileRange::getOffset));
    List<FileRange> spans = new ArrayList<>();
    List<List<FileRange>> members = new ArrayList<>();
    for (int from = 0; from < sorted.size(); ) {
      long start = sorted.get(from).getOffset();
      long end = end(sorted.get(from));
      int to = from + 1;
      while (to < sorted.size() && joins(sorted.get(to), start, end))
        end = Math.max(end, end(sorted.get(to++)));
      List<FileRange> within = sorted.subList(from, to);
      if (start < tail.start) {
        spans.add(FileRange.createFileRange(start, (int) (Math.min(end, tail.start) - start)));
        members.add(within);
      } else {
        for (FileRange range : within) setFromTail(range, allocate);
      }
      from = to;
    }
    if (spans.isEmpty()) return;
    rest.readVectored(spans, allocate); // one request for each span, all at once
    for (int i = 0; i < spans.size(); i++) {
      for (FileRange range : members.get(i)) setFromSpan(range, spans.get(i), allocate);
    }
  }

  @Override
  public void readVectored(
      List<? extends FileRange> ranges,
      IntFunction<ByteBuffer> allocate,
      Consumer<ByteBuffer> release)
      throws IOException {
    readVectored(ranges, allocate);
  }

  private static long end(FileRange range) {
    return range.getOffset() + range.getLength();
  }

  /** Returns whether a range is read together with those from `start` to before `end`. */
  private boolean joins(FileRange range, long start, long end) {
    if (range.getOffset() >= tail.start) return start >= tail.start;
    return range.getOffset() - end <= GAP_BYTES_MAX
        && Math.max(end, end(range)) - start <= SPAN_BYTES_MAX;
  }

  private void setFromTail(FileRange range, IntFunction<ByteBuffer> allocate) throws IOException {
    byte[] bytes = new byte[range.getLength()];
    readFully(range.getOffset(), bytes);
    range.setData(CompletableFuture.completedFuture(filled(bytes, allocate)));
  }

  private static ByteBuffer filled(byte[] bytes, IntFunction<ByteBuffer> allocate) {
    return allocate.apply(bytes.length).put(bytes).flip();
  }

  /** Sets a range that starts in the span and may end in the tail. */
  private void setFromSpan(FileRange range, FileRange span, IntFunction<ByteBuffer> allocate) {
    int from = (int) (range.getOffset() - span.getOffset());
    int inSpan = (int) Math.min(range.getLength(), tail.start - range.getOffset());
    range.setData(
        span.getData()
            .thenApply(
                read -> {
                  ByteBuffer part = read.duplicate();
                  part.position(part.position() + from);
                  part.limit(part.position() + inSpan);
                  if (inSpan == range.getLength()) return part.slice();
                  byte[] bytes = new byte[range.getLength()];
                  part.get(bytes, 0, inSpan);
                  System.arraycopy(tail.bytes, 0, bytes, inSpan, bytes.length - inSpan);
                  return filled(bytes, allocate);
                }));
  }

  @Override
  public void close() throws IOException {
    rest.close();
  }
}
