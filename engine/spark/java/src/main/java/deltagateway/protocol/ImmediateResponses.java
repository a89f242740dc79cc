package deltagateway.protocol;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import py4j.DefaultGatewayServerListener;
import py4j.GatewayServer;
import py4j.Py4JPythonClientPerThread;
import py4j.Py4JServerConnection;

/**
 * Answers of calls go out as they are written. py4j writes an answer of more than some 8000
 * characters in pieces, of which the system would hold the later ones back until Python has
 * acknowledged the first, and Python's system does that after 40 ms, having nothing to send.
 */
public final class ImmediateResponses extends DefaultGatewayServerListener {
  private ImmediateResponses() {}

  /** For the connection that this is called on, and all that are made later. */
  public static void by(GatewayServer server) {
    server.addListener(new ImmediateResponses());
    Py4JPythonClientPerThread client = (Py4JPythonClientPerThread) server.getCallbackClient();
    bePrompt(client.getPerThreadConnection().getSocket());
  }

  public void connectionStarted(Py4JServerConnection connection) {
    bePrompt(connection.getSocket());
  }

  private static void bePrompt(Socket socket) {
    try {
      socket.setTcpNoDelay(true);
    } catch (IOException closed) {
      throw new UncheckedIOException(closed);
    }
  }
}
