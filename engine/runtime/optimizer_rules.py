"""The gateway's rules in Spark's optimizer, with the settings that switch them.

`OptimizerRule.java` is the registry; this table has the same names in the same order, with a description for users.
"""

from __future__ import annotations

# Name and description.
RULES = (
    ("largeInLists", "IN with 1,000 literals or more is analyzed as a set of values."),
    ("scanStatistics", "Joins are ordered and broadcast by the statistics that the log has for the remaining files."),
    ("dictionarySizes", "Joins are also ordered by distinct counts from dictionaries of Parquet files."),
    ("dateGroupingKeys", "Groups by the month, week, quarter or year of a date are computed with dates."),
    ("unscaledDecimalAggregates", "Sums and averages of decimals are computed with longs."),
    ("semiJoinReduction", "Groups that are joined with few keys are computed for these keys only."),
    ("broadcastSelection", "Joins broadcast a side with small files whose estimated size in memory is larger."),
    ("limitPruning", "LIMIT without ORDER BY reads only files that have enough rows."),
    ("mixedPartitionFilters", "Files are pruned by conditions on partition columns and others together."),
    ("unscaledDecimalComparisons", "Filters compare decimals of up to 18 digits as longs."),
    ("fullSamples", "A view with a barrier draws no random numbers."),
    ("singleTaskHashJoin", "Joins of a query that runs in one task are hash joins without a broadcast."),
    ("singlePartitionExchanges", "Rows that are all in one partition are not exchanged."),
    ("pointLookups", "Lookups by values of a column run without generated code."),
    (
        "vectorizedAggregates",
        "Sums, counts, averages and extremes of columns are aggregated by batches, without generated code.",
    ),
    ("dynamicFilePruning", "Files are pruned by the keys of a broadcast side of a join."),
    ("singleTaskExecution", "A query that reads a few megabytes runs in one task."),
    ("staticPlans", "Small queries run without adaptive execution."),
    ("shufflePartitions", "The number of partitions of an exchange depends on the bytes that a query reads."),
    ("interpretedPlans", "Plans with more than 4,000 expressions over few bytes run without generated code."),
    ("planCache", "Plans of repeated statements are cached."),
    ("columnCache", "Decoded columns of local data files are cached."),
)


def rule_setting(name: str) -> str:
    """Returns the setting that switches a rule."""
    return f"spark.gateway.optimizer.{name}.enabled"
