"""Runs Superset's database operations in its own environment and process: FOLDER, NAME, URI, EXTRA as JSON.

Browses, previews, draws by every time grain, runs SQL Lab with an error and a stop; prints a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

folder, name, uri, extra = Path(sys.argv[1]), *sys.argv[2:5]
(folder / "superset_config.py").write_text(
    "SECRET_KEY = 'a key of a test'\n"
    f"SQLALCHEMY_DATABASE_URI = 'sqlite:///{folder}/superset.db'\n"
    "DB_POLL_INTERVAL_SECONDS = {'hive': 0.2}\n"
)
os.environ |= {"SUPERSET_CONFIG_PATH": str(folder / "superset_config.py"), "SUPERSET_HOME": str(folder)}

from superset.app import create_app  # noqa: E402

app = create_app()
with app.app_context():
    import pandas as pd
    from flask_appbuilder import Model
    from superset import db, sql_lab
    from superset.common.db_query_status import QueryStatus
    from superset.models.core import Database
    from superset.models.sql_lab import Query
    from superset.sql.parse import Table

    Model.metadata.create_all(db.engine)
    database = Database(database_name=name, sqlalchemy_uri=uri, extra=extra, allow_dml=True)
    database.set_sqlalchemy_uri(uri)
    db.session.add(database)
    db.session.commit()
    spec = database.db_engine_spec
    catalog = database.get_default_catalog()
    orders, stock = Table("orders", "shop", catalog), Table("stock", "shop", catalog)
    spec_info: dict[str, object] = {"spec": spec.__name__, "catalog": catalog}

    def ask(text: str) -> pd.DataFrame:
        return database.get_df(text, catalog, "shop")

    def lab(text: str, stop_after_s: float | None = None) -> tuple[str, object]:
        """Returns a SQL Lab query's final state, and its rows or error; another thread stops it if requested."""
        query = Query(
            client_id=str(time.monotonic_ns())[-10:],
            database=database,
            sql=text,
            schema="shop",
            catalog=catalog,
            limit=1000,
            status=QueryStatus.PENDING,
        )
        db.session.add(query)
        db.session.commit()
        number = query.id

        def stop() -> None:
            time.sleep(stop_after_s or 0)
            with app.app_context():
                other = db.session.query(Query).get(number)
                other.status = QueryStatus.STOPPED
                db.session.commit()

        if stop_after_s is not None:
            threading.Thread(target=stop).start()
        answer = sql_lab.get_sql_results(number, text, return_results=True, store_results=False)
        db.session.expire_all()
        query = db.session.query(Query).get(number)
        return query.status, (answer or {}).get("data", query.error_message)

    spec_info["schemas"] = sorted(database.get_all_schema_names(catalog=catalog))
    spec_info["tables"] = sorted(table for table, *_ in database.get_all_table_names_in_schema(catalog, "shop"))
    spec_info["views"] = sorted(view for view, *_ in database.get_all_view_names_in_schema(catalog, "shop"))
    spec_info["columns"] = [[column["column_name"], str(column["type"])] for column in database.get_columns(stock)]
    spec_info["key"] = database.get_pk_constraint(stock).get("constrained_columns") or []
    spec_info["foreign keys"] = list(database.get_foreign_keys(stock))
    spec_info["indexes"] = list(database.get_indexes(stock))
    spec_info["has table"] = [database.has_table(stock), database.has_table(Table("nope", "shop", catalog))]
    spec_info["functions"] = "abs" in database.function_names
    spec_info["comment"] = database.get_table_comment(stock)
    spec_info["metadata"] = spec.get_extra_table_metadata(database, orders)
    spec_info["preview"] = len(ask(database.select_star(stock, limit=5, show_cols=True)))
    spec_info["rows"] = ask(
        "SELECT order_id, channel, ordered_at, order_date FROM orders ORDER BY order_id LIMIT 2"
    ).to_json()
    grains = spec.get_time_grain_expressions()
    spec_info["grains"] = {
        str(grain): len(ask(f"SELECT {expression.format(col='ordered_at')} AS t FROM orders LIMIT 2"))
        for grain, expression in grains.items()
    }
    spec_info["lab"] = [lab("SELECT count(*) AS n FROM orders WHERE order_id < 5"), lab("SELECT nope FROM orders")]
    spec_info["lab"] += [lab("CREATE TABLE made AS SELECT 1 AS a"), lab("DROP TABLE made")]
    if spec.has_implicit_cancel():  # Superset cannot stop a Databricks query
        spec_info["stopped"] = lab("SELECT count(*) FROM range(100000000000) WHERE sha2(string(id), 256) = ''", 3.0)
    print(json.dumps(spec_info, default=str))
