package deltagateway.protocol;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Callbacks, answered by a server on the loopback device. */
class PythonCallbacksTest {
  private ServerSocket server;
  private PythonCallbacks callbacks;

  @BeforeEach
  void start() throws IOException {
    server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    callbacks = new PythonCallbacks(server.getLocalPort(), "secret");
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  /** Answers one callback with these bytes; returns its two lines. */
  private CompletableFuture<List<String>> answer(byte[] response) {
    return CompletableFuture.supplyAsync(
        () -> {
          try (Socket socket = server.accept()) {
            BufferedReader in =
                new BufferedReader(
                    new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            List<String> lines = List.of(in.readLine(), in.readLine());
            socket.getOutputStream().write(response);
            return lines;
          } catch (IOException failure) {
            throw new IllegalStateException(failure);
          }
        });
  }

  private CompletableFuture<List<String>> answer(String response) {
    return answer(response.getBytes(StandardCharsets.UTF_8));
  }

  private static ObjectNode rows() {
    return StatementRequest.JSON.createObjectNode().put("statement", "ä").put("given", 0);
  }

  @Test
  void callbackIsALineWithThePasswordAndALineWithJson() throws Exception {
    CompletableFuture<List<String>> lines = answer("null\n{\"granted\": 5, \"note\": \"ö\"}\n");
    var value = callbacks.value(rows());
    assertEquals("{\"granted\":5,\"note\":\"ö\"}", value.toString());
    assertEquals(List.of("secret", "{\"statement\":\"ä\",\"given\":0}"), lines.get());
  }

  @Test
  void errorOfPythonIsThrown() {
    answer("\"ValueError: no\"\n");
    Exception failure = assertThrows(IllegalStateException.class, () -> callbacks.value(rows()));
    assertEquals("no answer: \"ValueError: no\"", failure.getMessage());
    answer("\"ValueError: no\"\n");
    failure =
        assertThrows(
            IllegalStateException.class, () -> callbacks.messages(rows(), new ArrayList<>()));
    assertEquals("no rows: \"ValueError: no\"", failure.getMessage());
    answer("\"ValueError: no\"\n");
    failure =
        assertThrows(
            IllegalStateException.class, () -> callbacks.files(rows(), new StructType(), "UTC"));
    assertEquals("no list of files: \"ValueError: no\"", failure.getMessage());
  }

  private static byte[] messages(boolean isComplete) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeBytes("null\n");
    for (int rows : new int[] {3, 0, 4}) {
      out.writeInt(rows);
      out.writeInt(2);
      out.write(new byte[] {(byte) rows, 9});
    }
    if (isComplete) {
      out.writeInt(-1);
      out.writeInt(0);
    }
    return bytes.toByteArray();
  }

  @Test
  void messagesHaveTheirRowsAndBytes() throws Exception {
    answer(messages(true));
    List<byte[]> messages = new ArrayList<>();
    assertEquals(7, callbacks.messages(rows(), messages));
    assertEquals(3, messages.size());
    assertArrayEquals(new byte[] {4, 9}, messages.get(2));
  }

  @Test
  void messagesThatEndEarlyAreAnError() throws Exception {
    answer(messages(false));
    assertThrows(EOFException.class, () -> callbacks.messages(rows(), new ArrayList<>()));
  }

  @Test
  void connectionThatClosesWithoutAnAnswerIsAnError() {
    answer("");
    Exception failure = assertThrows(IllegalStateException.class, () -> callbacks.value(rows()));
    assertEquals("no answer: ", failure.getMessage());
  }

  @Test
  void unknownCallbackIsNotSent() {
    ObjectNode unknown = StatementRequest.JSON.createObjectNode().put("statement", "s");
    assertThrows(IllegalArgumentException.class, () -> callbacks.send(unknown));
  }

  @Test
  void serverThatIsGoneIsAnError() throws IOException {
    server.close();
    assertThrows(ConnectException.class, () -> callbacks.value(rows()));
  }
}
