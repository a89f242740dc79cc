package deltagateway.protocol;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import py4j.DefaultGatewayServerListener;
import py4j.GatewayServer;
import py4j.Py4JPythonClientPerThread;
import py4j.Py4JServerConnection;

/**
 * Disables Nagle's algorithm for py4j's responses. py4j writes a response of more than about 8000
 * characters in pieces. The system would delay the later ones until Python has acknowledged the
 * first, and Python's system, which has nothing to send, acknowledges after 40 ms.
 */
public final class ImmediateResponses extends DefaultGatewayServerListener {
  private ImmediateResponses() {}

  /** Applies to the connection of the current call, and to all later ones. */
  public static void enable(GatewayServer server) {
    server.addListener(new ImmediateResponses());
    Py4JPythonClientPerThread client = (Py4JPythonClientPerThread) server.getCallbackClient();
    disableDelay(client.getPerThreadConnection().getSocket());
  }

  @Override
  public void connectionStarted(Py4JServerConnection connection) {
    disableDelay(connection.getSocket());
  }

  private static void disableDelay(Socket socket) {
    try {
      socket.setTcpNoDelay(true);
    } catch (IOException closed) {
      throw new UncheckedIOException(closed);
    }
  }
}
