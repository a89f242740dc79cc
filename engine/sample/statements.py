"""Statements of each kind over the sample lake: what Java loads for them, most statements of clients need as well."""

from __future__ import annotations

SAMPLE_READS = (
    "SELECT count(*), min(order_date), max(order_date) FROM shop.orders",
    "SELECT * FROM shop.orders WHERE order_id = 4711",
    "SELECT city, round(avg(temperature_c), 1), sum(rain_mm) FROM weather WHERE day < '2025-09-01' GROUP BY city",
    """
    SELECT c.country, p.category, sum(i.quantity * i.unit_price * (100 - i.discount_percent) / 100) AS revenue
    FROM shop.order_items i JOIN shop.orders o ON o.order_id = i.order_id
        JOIN shop.customers c ON c.customer_id = o.customer_id JOIN shop.products p ON p.product_id = i.product_id
    WHERE o.status = 'delivered' AND o.order_date >= '2025-10-01'
    GROUP BY c.country, p.category HAVING revenue > 1000 ORDER BY revenue DESC LIMIT 20
    """,
    """
    SELECT customer_id, order_id, rank() OVER (PARTITION BY customer_id ORDER BY ordered_at DESC) AS latest
    FROM shop.orders WHERE customer_id IN (SELECT customer_id FROM shop.customers WHERE is_business)
    """,
    "SELECT date_trunc('MONTH', ordered_at), channel, count(DISTINCT customer_id) FROM shop.orders GROUP BY ALL",
)
SAMPLE_WRITES = (
    "CREATE TABLE shop.made (id BIGINT NOT NULL, name STRING, price DECIMAL(10, 2), CONSTRAINT p CHECK (price > 0))",
    "INSERT INTO shop.made SELECT product_id, name, price FROM shop.products",
    "INSERT INTO shop.made VALUES (1000, 'one', 2.50)",
    "UPDATE shop.made SET price = price * 2 WHERE name LIKE 'Blue%'",
    "MERGE INTO shop.made t USING shop.products s ON t.id = s.product_id WHEN MATCHED AND s.price < 50 THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (s.product_id, s.name, s.price)",
    "CREATE TABLE shop.days USING iceberg PARTITIONED BY (months(day)) AS SELECT * FROM weather",
    "DELETE FROM shop.days WHERE rain_mm > 10",
    "SELECT city, max(temperature_c) FROM shop.days GROUP BY city",
)
"""In this order, each once."""
