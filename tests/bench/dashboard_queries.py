"""Dashboard queries over TPC-H: ten small aggregates and point lookups, each with two parameter sets."""

from __future__ import annotations

from types import MappingProxyType

QUERIES = MappingProxyType(
    {
        "count and dates": "SELECT count(*), min(l_shipdate), max(l_shipdate) FROM lineitem",
        "orders by status": "SELECT o_orderstatus, count(*), sum(o_totalprice) FROM orders GROUP BY o_orderstatus",
        "revenue by month": (
            "SELECT date_trunc('month', l_shipdate) AS month, sum(l_extendedprice * (1 - l_discount)) AS revenue"
            " FROM lineitem WHERE l_shipdate >= DATE'{year}-01-01' AND l_shipdate < DATE'{year}-07-01'"
            " GROUP BY month ORDER BY month"
        ),
        "discounted sum": (
            "SELECT sum(l_extendedprice * l_discount), avg(l_discount) FROM lineitem"
            " WHERE l_shipdate >= DATE'{year}-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
        ),
        "best customers": (
            "SELECT c_name, sum(o_totalprice) AS total FROM orders JOIN customer ON o_custkey = c_custkey"
            " WHERE o_orderdate >= DATE'{year}-01-01' AND o_orderdate < DATE'{year}-04-01'"
            " GROUP BY c_name ORDER BY total DESC, c_name LIMIT 10"
        ),
        "suppliers of a region": (
            "SELECT n_name, count(*), avg(s_acctbal) FROM supplier JOIN nation ON s_nationkey = n_nationkey"
            " JOIN region ON n_regionkey = r_regionkey WHERE r_name = '{region}' GROUP BY n_name ORDER BY n_name"
        ),
        "latest orders": (
            "SELECT o_orderkey, o_orderdate, o_totalprice FROM orders WHERE o_orderpriority = '1-URGENT'"
            " ORDER BY o_orderdate DESC, o_orderkey LIMIT 20"
        ),
        "one order": "SELECT * FROM orders WHERE o_orderkey = {order}",
        "items of an order": (
            "SELECT l_linenumber, p_name, l_quantity, l_extendedprice FROM lineitem JOIN part ON l_partkey = p_partkey"
            " WHERE l_orderkey = {order} ORDER BY l_linenumber"
        ),
        "some parts": "SELECT p_partkey, p_name, p_brand FROM part WHERE p_size = {size} LIMIT 50",
    }
)
PARAMETERS = (
    {"year": "1994", "region": "EUROPE", "order": "1", "size": "15"},
    {"year": "1997", "region": "ASIA", "order": "40004", "size": "23"},
)


def queries() -> tuple[str, ...]:
    """Returns all distinct texts; a query without parameters has one."""
    return tuple(dict.fromkeys(text.format(**each) for text in QUERIES.values() for each in PARAMETERS))
