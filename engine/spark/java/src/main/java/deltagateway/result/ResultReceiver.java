package deltagateway.result;

import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.IsolatedRpcEndpoint;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.util.RpcUtils$;
import scala.PartialFunction;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Takes the bytes of partitions from executors in other processes while their tasks run, and
 * appends them to files of the driver. The bytes of a task's own result would be in the heaps of
 * both, in one array.
 *
 * <p>It is an endpoint of Spark, with Spark's authentication and encryption. An executor waits for
 * each answer before it sends more.
 */
public final class ResultReceiver implements IsolatedRpcEndpoint {
  private static final String NAME = "gateway-results";
  private static final int THREADS = 4;

  private final RpcEnv environment;

  private ResultReceiver(RpcEnv environment) {
    this.environment = environment;
  }

  /** Starts to receive, once for each context. */
  public static void start(SparkContext context) {
    RpcEnv environment = context.env().rpcEnv();
    environment.setupEndpoint(NAME, new ResultReceiver(environment));
  }

  /**
   * Called by a task: appends bytes to the driver's file `name` in the statement's folder. Returns
   * the file's path.
   */
  static String send(String folder, String name, byte[] bytes) {
    SparkEnv here = SparkEnv.get();
    return RpcUtils$.MODULE$
        .makeDriverRef(NAME, here.conf(), here.rpcEnv())
        .askSync(new Chunk(folder, name, bytes), ClassTag$.MODULE$.apply(String.class));
  }

  @Override
  public RpcEnv rpcEnv() {
    return environment;
  }

  @Override
  public int threadCount() {
    return THREADS;
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(Object message) {
        return message instanceof Chunk;
      }

      @Override
      public BoxedUnit apply(Object message) {
        Chunk chunk = (Chunk) message;
        try {
          context.reply(ResultSpool.append(chunk.folder, chunk.name, chunk.bytes));
        } catch (IOException | RuntimeException failure) {
          context.sendFailure(failure);
        }
        return BoxedUnit.UNIT;
      }
    };
  }

  private record Chunk(String folder, String name, byte[] bytes) implements Serializable {}
}
