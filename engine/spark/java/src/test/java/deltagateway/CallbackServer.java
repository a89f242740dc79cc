package deltagateway;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.StatementRequest;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** Python's side of the callbacks: answers requests and records them. */
public final class CallbackServer implements AutoCloseable {
  private static final String PASSWORD = "password";

  private final ServerSocket listener;
  private final Function<JsonNode, byte[]> answers;
  public final List<JsonNode> requests = new CopyOnWriteArrayList<>();

  public CallbackServer(Function<JsonNode, byte[]> answers) throws IOException {
    this.answers = answers;
    this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread thread = new Thread(this::serve, "callback-server");
    thread.setDaemon(true);
    thread.start();
  }

  public PythonCallbacks callbacks() {
    return new PythonCallbacks(listener.getLocalPort(), PASSWORD);
  }

  private void serve() {
    while (!listener.isClosed()) {
      try (Socket socket = listener.accept()) {
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        if (!PASSWORD.equals(in.readLine())) continue;
        JsonNode request = StatementRequest.JSON.readTree(in.readLine());
        requests.add(request);
        socket.getOutputStream().write(answers.apply(request));
      } catch (IOException closed) {
        continue;
      }
    }
  }

  /** Returns the answer that a request has failed. */
  public static byte[] failure(String message) {
    return (message + "\n").getBytes(StandardCharsets.UTF_8);
  }

  /** Returns an answer of one JSON value. */
  public static byte[] value(String json) {
    return ("null\n" + json + "\n").getBytes(StandardCharsets.UTF_8);
  }

  /** Returns an answer of a stream. */
  public static byte[] stream(byte[] content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes("null\n".getBytes(StandardCharsets.UTF_8));
    bytes.writeBytes(content);
    return bytes.toByteArray();
  }

  /** Returns an answer of Arrow messages with so many rows each. */
  public static byte[] messages(int rows, byte[]... messages) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      for (byte[] message : messages) {
        out.writeInt(rows);
        out.writeInt(message.length);
        out.write(message);
      }
      out.writeInt(-1);
      out.writeInt(0);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return stream(bytes.toByteArray());
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
