package deltagateway.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.scan.ScanFiles;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * What Python answers while Spark plans, from any thread; see engine/spark/driver_callbacks.py for
 * what goes over the wire.
 */
public final class PythonCallbacks {
  private final int port;
  private final String password;

  public PythonCallbacks(int port, String password) {
    this.port = port;
    this.password = password;
  }

  /** A failure is told to the statement on Python's side, here it only ends the planning. */
  public ScanFiles files(JsonNode question, StructType constants, String timeZone)
      throws Exception {
    Socket socket = ask(question);
    try {
      InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
      String failure = line(in);
      if (!failure.equals("null")) throw new IllegalStateException("no list of files: " + failure);
      return ScanFiles.read(in, constants, timeZone);
    } finally {
      socket.close();
    }
  }

  /** Adds the Arrow messages of an answer to `messages`; the number of their rows. */
  public long messages(JsonNode question, List<byte[]> messages) throws IOException {
    Socket socket = ask(question);
    try {
      DataInputStream in =
          new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
      String failure = line(in);
      if (!failure.equals("null")) throw new IllegalStateException("no rows: " + failure);
      long rows = 0;
      for (int more = in.readInt(), length = in.readInt();
          more >= 0;
          more = in.readInt(), length = in.readInt()) {
        byte[] message = new byte[length];
        in.readFully(message);
        messages.add(message);
        rows += more;
      }
      return rows;
    } finally {
      socket.close();
    }
  }

  /** The answer of a question that is answered by one value. */
  public JsonNode value(JsonNode question) throws IOException {
    Socket socket = ask(question);
    try {
      InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 12);
      String failure = line(in);
      if (!failure.equals("null")) throw new IllegalStateException("no answer: " + failure);
      return StatementRequest.JSON.readTree(line(in));
    } finally {
      socket.close();
    }
  }

  /** The connection of a question that has been sent. */
  public Socket ask(JsonNode question) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
    try {
      String text = password + "\n" + StatementRequest.JSON.writeValueAsString(question) + "\n";
      socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException failure) {
      socket.close();
      throw failure;
    }
    return socket;
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder text = new StringBuilder();
    for (int next = in.read(); next != '\n' && next >= 0; next = in.read())
      text.append((char) next);
    return text.toString();
  }
}
