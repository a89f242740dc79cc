#!/bin/sh
# Runs a daemon of Spark's standalone cluster with the Spark that pyspark has: spark-standalone.sh master [OPTION ...], or
# spark-standalone.sh worker MASTER_URL [OPTION ...]
set -eu
SPARK_HOME=$(python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')
export SPARK_HOME
role=$1
shift
case $role in
    master) set -- org.apache.spark.deploy.master.Master --port 7077 --webui-port 8082 "$@" ;;
    worker) set -- org.apache.spark.deploy.worker.Worker --webui-port 8081 --work-dir /tmp/spark-work "$@" ;;
    *)
        echo "master or worker, not $role" >&2
        exit 2
        ;;
esac
exec bash "$SPARK_HOME/bin/spark-class" "$@"
