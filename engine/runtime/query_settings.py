"""Spark settings that only change the meaning or the speed of a session's own queries, as table rows.

Each was examined: it does not change which names a text has (the gateway reads names too), what other sessions see, or
what this session may access. Rejected for these reasons are, among others, settings that change how a text is split
into words or names (`spark.sql.caseSensitive`, `spark.sql.ansi.doubleQuotedIdentifiers`,
`spark.sql.parser.escapedStringLiterals`, `spark.sql.parser.quotedRegexColumnNames`), the name of a type
(`spark.sql.timestampType`), the optimizer rules (`spark.sql.optimizer.excludedRules`), or the analyzer
(`spark.sql.analyzer.singlePassResolver.enabled`).
"""

from __future__ import annotations

DATES_AS_TEXTS = "spark.sql.legacy.typeCoercion.datetimeToString.enabled"

# Key and description of boolean settings.
FLAGS = (
    ("spark.sql.ansi.enforceReservedKeywords", "Reserved words of ANSI SQL are no names."),
    ("spark.sql.ansi.relationPrecedence", "JOIN binds tighter than the comma in FROM."),
    ("spark.sql.chunkBase64String.enabled", "base64 breaks its lines after 76 characters."),
    ("spark.sql.codegen.wholeStage", "Compile whole stages of a plan."),
    ("spark.sql.constraintPropagation.enabled", "Infer filters from others."),
    ("spark.sql.decimalOperations.allowPrecisionLoss", "Too wide results of decimals lose digits of their fraction."),
    ("spark.sql.function.concatBinaryAsString", "concat of binary values is a string."),
    ("spark.sql.function.eltOutputAsString", "elt of binary values is a string."),
    ("spark.sql.groupByAliases", "GROUP BY may name an alias of the SELECT list."),
    ("spark.sql.groupByOrdinal", "A number in GROUP BY is a place in the SELECT list."),
    ("spark.sql.jsonGenerator.ignoreNullFields", "to_json leaves fields out that are null."),
    ("spark.sql.lateralColumnAlias.enableImplicitResolution", "A SELECT list may name its own earlier aliases."),
    ("spark.sql.legacy.allowHashOnMapType", "Maps may be hashed."),
    ("spark.sql.legacy.allowNullComparisonResultInArraySort", "A comparison in array_sort may be null."),
    ("spark.sql.legacy.allowParameterlessCount", "count() without arguments counts nothing."),
    ("spark.sql.legacy.allowStarWithSingleTableIdentifierInCount", "count(t.*) counts rows without nulls."),
    ("spark.sql.legacy.allowZeroIndexInFormatString", "Arguments of format_string may count from 0."),
    ("spark.sql.legacy.bangEqualsNot", "! may be used for NOT in front of LIKE, IN and others."),
    ("spark.sql.legacy.castComplexTypesToString.enabled", "Maps and structs become text in brackets."),
    ("spark.sql.legacy.codingErrorAction", "encode and decode put a mark for what they cannot map."),
    ("spark.sql.legacy.createEmptyCollectionUsingStringType", "array() and map() have elements of type STRING."),
    ("spark.sql.legacy.cteDuplicateAttributeNames", "Columns of a WITH query may have the same name."),
    ("spark.sql.legacy.decimal.retainFractionDigitsOnTruncate", "Too wide decimals keep their fraction first."),
    ("spark.sql.legacy.duplicateBetweenInput", "BETWEEN evaluates its input twice."),
    ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "1E2 is a decimal."),
    ("spark.sql.legacy.followThreeValuedLogicInArrayExists", "exists may answer null."),
    ("spark.sql.legacy.fromDayTimeString.enabled", "Intervals of days are cut to their fields."),
    ("spark.sql.legacy.groupingIdWithAppendedUserGroupBy", "grouping_id orders its bits as old releases did."),
    ("spark.sql.legacy.histogramNumericPropagateInputType", "histogram_numeric keeps the type of its input."),
    ("spark.sql.legacy.inSubqueryNullability", "Whether IN (SELECT …) may be null looks at its left side only."),
    ("spark.sql.legacy.integerGroupingId", "grouping_id is an INT."),
    ("spark.sql.legacy.interval.enabled", "INTERVAL and differences of dates are calendar intervals."),
    ("spark.sql.legacy.javaCharsets", "encode and decode know all charsets of Java."),
    ("spark.sql.legacy.json.allowEmptyString.enabled", "from_json takes an empty string for null."),
    ("spark.sql.legacy.literal.pickMinimumPrecision", "Integer literals are narrow decimals beside decimals."),
    ("spark.sql.legacy.lpadRpadAlwaysReturnString", "lpad and rpad of binary values are strings."),
    ("spark.sql.legacy.negativeIndexInArrayInsert", "array_insert counts -1 as the place before the last."),
    ("spark.sql.legacy.nullInEmptyListBehavior", "null IN () is null, not false."),
    ("spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv", "to_csv writes null as quotes."),
    ("spark.sql.legacy.parser.havingWithoutGroupByAsWhere", "HAVING without GROUP BY is WHERE."),
    ("spark.sql.legacy.percentileDiscCalculation", "percentile_disc rounds as old releases did."),
    (
        "spark.sql.legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate",
        "A scalar subquery may group by columns of predicates that are no equalities.",
    ),
    ("spark.sql.legacy.scalarSubqueryCountBugBehavior", "Scalar subqueries count empty groups as old releases did."),
    ("spark.sql.legacy.setopsPrecedence.enabled", "Set operations run from left to right."),
    ("spark.sql.legacy.sizeOfNull", "size(null) is -1 where ANSI mode is off."),
    ("spark.sql.legacy.truncateForEmptyRegexSplit", "split by an empty pattern keeps to its limit."),
    (DATES_AS_TEXTS, "Dates are compared with strings as strings."),
    ("spark.sql.optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled", "As old releases did."),
    ("spark.sql.optimizer.decorrelateInnerQuery.enabled", "Rewrite correlated subqueries."),
    ("spark.sql.optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled", "As old releases did."),
    ("spark.sql.optimizer.disableHints", "Ignore hints."),
    ("spark.sql.optimizer.enableCsvExpressionOptimization", "Simplify from_csv and to_csv."),
    ("spark.sql.optimizer.enableJsonExpressionOptimization", "Simplify from_json and to_json."),
    ("spark.sql.optimizer.optimizeOneRowRelationSubquery", "Replace subqueries of one row by their columns."),
    (
        "spark.sql.optimizer.optimizeOneRowRelationSubquery.alwaysInline",
        "Replace subqueries of one row by their columns wherever they are.",
    ),
    (
        "spark.sql.optimizer.optimizeUncorrelatedInSubqueriesInJoinCondition.enabled",
        "Rewrite IN subqueries in join conditions.",
    ),
    ("spark.sql.optimizer.pullOutNestedDataOuterRefExpressions.enabled", "Rewrite outer references to nested fields."),
    ("spark.sql.optimizer.scalarSubqueryUseSingleJoin", "A scalar subquery with more than one row is an error."),
    ("spark.sql.orderByOrdinal", "A number in ORDER BY is a place in the SELECT list."),
    ("spark.sql.prioritizeOrdinalResolutionInSort.enabled", "ORDER BY reads numbers before it reads names."),
    ("spark.sql.stableDerivedColumnAlias.enabled", "Columns without a name are called by their text."),
    ("spark.sql.subexpressionElimination.enabled", "Compute equal expressions of a row once."),
    ("spark.sql.variant.allowDuplicateKeys", "The last of equal keys of a JSON object counts."),
)

# Key, description, minimum and maximum of integer settings.
LIMITS = (
    (
        "spark.sql.cteRecursionAnchorRowsLimitToConvertToLocalRelation",
        "Rows of its first step that a recursive WITH keeps in memory.",
        0,
        100_000,
    ),
    ("spark.sql.cteRecursionLevelLimit", "Steps after which a recursive WITH is an error.", 1, 100_000),
    ("spark.sql.cteRecursionRowLimit", "Rows after which a recursive WITH is an error.", 1, 1_000_000_000),
    ("spark.sql.leafNodeDefaultParallelism", "Partitions of VALUES, range and other rows without files.", 1, 1_000),
    ("spark.sql.maxMetadataStringLength", "Characters of a value in a plan.", 1, 100_000),
    ("spark.sql.pivotMaxValues", "Values that a PIVOT without a list may find.", 1, 100_000),
)

# Key, description and values of enumerations.
CHOICES = (
    (
        "spark.sql.binaryOutputStyle",
        "How to_csv, to_xml and others write bytes.",
        ("UTF-8", "BASIC", "BASE64", "HEX", "HEX_DISCRETE"),
    ),
    (
        "spark.sql.legacy.ctePrecedencePolicy",
        "Which WITH a name means that several define.",
        ("EXCEPTION", "LEGACY", "CORRECTED"),
    ),
)
