package deltagateway.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.scan.ScanFiles;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * Callbacks to Python, from any thread; engine/spark/driver_callbacks.py describes the connection.
 * A failure in Python fails the statement there; here it only ends the planning.
 */
public final class PythonCallbacks {
  private static final int BUFFER_BYTES = 1 << 16;

  private final int port;
  private final String password;

  public PythonCallbacks(int port, String password) {
    this.port = port;
    this.password = password;
  }

  /** Returns the files that the callback requests. */
  public ScanFiles files(JsonNode callback, StructType constants, String timeZone)
      throws Exception {
    try (Socket socket = send(callback)) {
      return ScanFiles.read(response(socket, "no list of files: "), constants, timeZone);
    }
  }

  /** Adds the Arrow messages of the response to `messages`; returns the number of their rows. */
  public long messages(JsonNode callback, List<byte[]> messages) throws IOException {
    try (Socket socket = send(callback)) {
      DataInputStream in = new DataInputStream(response(socket, "no rows: "));
      long rows = 0;
      while (true) {
        int rowCount = in.readInt();
        int length = in.readInt();
        if (rowCount < 0) return rows;
        byte[] message = new byte[length];
        in.readFully(message);
        messages.add(message);
        rows += rowCount;
      }
    }
  }

  /** Returns the one value of the response. */
  public JsonNode value(JsonNode callback) throws IOException {
    try (Socket socket = send(callback)) {
      return StatementRequest.JSON.readTree(line(response(socket, "no answer: ")));
    }
  }

  /** Returns the connection of a callback that has been sent. */
  public Socket send(JsonNode callback) throws IOException {
    String json = StatementRequest.JSON.writeValueAsString(Schema.checkCallback(callback));
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
    try {
      String lines = password + "\n" + json + "\n";
      socket.getOutputStream().write(lines.getBytes(StandardCharsets.UTF_8));
      return socket;
    } catch (IOException failure) {
      socket.close();
      throw failure;
    }
  }

  /** Returns the response after its first line, which is `null` or the error. */
  private static InputStream response(Socket socket, String failurePrefix) throws IOException {
    InputStream in = new BufferedInputStream(socket.getInputStream(), BUFFER_BYTES);
    String failure = line(in);
    if (!failure.equals("null")) throw new IllegalStateException(failurePrefix + failure);
    return in;
  }

  private static String line(InputStream in) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int next = in.read(); next != '\n' && next >= 0; next = in.read()) bytes.write(next);
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
