"""Spark from Python in local mode: a DataFrame by `functions`, a UDF, and Spark's properties of a thread."""

import os
import threading
import time

import jpeer

OPENED = ("java.io", "java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "java.util.concurrent",
          "sun.nio.ch", "sun.util.calendar")
THREADS, ROUNDS = 4, 25
DEADLINE = 60


def column(rows, name):
    return [row.getAs(name) for row in rows.collectAsList()]


def use_functions(java, spark):
    """Compares the functions of the lower-case class `functions`, which most scripts use, with values computed in
    Python."""
    F = java.org.apache.spark.sql.functions
    types = java.org.apache.spark.sql.types.DataTypes
    schema = types.createStructType([types.createStructField("name", types.StringType, False),
                                     types.createStructField("amount", types.IntegerType, True)])
    people = [("Ada", 5), ("Bo", None), ("Ada", 7), ("Cy", 2**31 - 1)]
    rows = [java.org.apache.spark.sql.RowFactory.create(*each) for each in people]
    table = spark.createDataFrame(rows, schema)
    assert jpeer.to_python([row.toSeq() for row in table.collectAsList()]) == [list(each) for each in people]

    sums = table.groupBy(F.col("name")).agg(F.sum("amount").alias("total"), F.count(F.lit(1)).alias("rows")).orderBy("name")
    found = [(row.getAs("name"), row.getAs("total"), row.getAs("rows")) for row in sums.collectAsList()]
    assert found == [("Ada", 12, 2), ("Bo", None, 1), ("Cy", 2**31 - 1, 1)], found

    squares = spark.range(1000).where(F.col("id").mod(7).equalTo(3)).select(F.pow(F.col("id"), F.lit(2)).alias("square"))
    assert column(squares, "square") == [float(n * n) for n in range(1000) if n % 7 == 3]
    joined = table.select(F.concat_ws("-", F.col("name"), F.upper(F.col("name"))).alias("both")).distinct().orderBy("both")
    assert column(joined, "both") == ["Ada-ADA", "Bo-BO", "Cy-CY"]
    try:
        table.select("nothing")
    except java.org.apache.spark.sql.AnalysisException as error:
        assert "`nothing`" in str(error), error
    else:
        raise AssertionError("the table has no such column")


def use_udf(java, spark):
    F = java.org.apache.spark.sql.functions
    long = java.org.apache.spark.sql.types.DataTypes.LongType
    numbers = spark.range(0, 40, 1, 4)
    calls = []

    def triple(number):
        calls.append(threading.get_ident())
        return jpeer.jlong(3 * number)

    # Spark serializes functions for its executors, even if these are threads of the same JVM.
    spark.udf().register("bare", jpeer.cast("org.apache.spark.sql.api.java.UDF1", triple), long)
    try:
        numbers.select(F.expr("bare(id)")).collectAsList()
    except java.org.apache.spark.SparkException as error:
        assert isinstance(error.__cause__, java.java.io.NotSerializableException), error.__cause__
    else:
        raise AssertionError("an object of Python's was serialized")
    spark.udf().register("kept", java.kept.KeptFunction("triple", triple), long)
    tripled = numbers.select(F.expr("kept(id)").alias("tripled"))
    assert sorted(column(tripled, "tripled")) == [3 * n for n in range(40)]
    assert len(calls) == 40 and threading.get_ident() not in calls


def has_job(context, group):
    """Spark reports jobs by events, after they have begun."""
    until = time.monotonic() + DEADLINE
    while not context.statusTracker().getJobIdsForGroup(group):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def use_threads(java, spark):
    """Local properties belong to a thread, and a job has the properties of the thread that runs it."""
    context = spark.sparkContext()
    wrong, finished, together = [], [], threading.Barrier(THREADS)

    def run(name):
        together.wait(60)
        for number in range(ROUNDS):
            context.setLocalProperty("owner", f"{name}-{number}")
            context.setJobGroup(f"group-{name}-{number}", "a job", False)
            assert spark.range(10).count() == 10
            if context.getLocalProperty("owner") != f"{name}-{number}":
                wrong.append((name, number, context.getLocalProperty("owner")))
            if not has_job(context, f"group-{name}-{number}"):
                wrong.append((name, number, "its group has no job"))
        finished.append(name)

    threads = [threading.Thread(target=run, args=(name,), name=name) for name in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong, wrong
    assert len(finished) == THREADS, f"only {finished} have finished"
    assert context.getLocalProperty("owner") is None


with jpeer.launch(classpath=os.environ["JARS"],
                  jvm_options=["-Xmx1g", *(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in OPENED)]) as java:
    spark = (java.org.apache.spark.sql.SparkSession.builder().master("local[2]").appName("jpeer")
             .config("spark.ui.enabled", False).config("spark.driver.host", "127.0.0.1")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.shuffle.partitions", 2).getOrCreate())
    spark.sparkContext().setLogLevel("ERROR")
    use_functions(java, spark)
    use_udf(java, spark)
    use_threads(java, spark)
    print(f"Spark {spark.version()}: functions, a UDF, {THREADS * ROUNDS} jobs of {THREADS} threads with the properties of each")
    spark.stop()
