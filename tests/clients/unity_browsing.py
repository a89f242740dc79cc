"""Browses with the client of the open-source Unity Catalog, in its own environment; prints the objects as JSON."""

import asyncio
import json
import sys

from unitycatalog.client import ApiClient, CatalogsApi, Configuration, FunctionsApi, SchemasApi, TablesApi, VolumesApi
from unitycatalog.client.exceptions import NotFoundException


async def browse(url: str, token: str) -> dict[str, object]:
    configuration = Configuration(host=f"{url}/api/2.1/unity-catalog")
    async with ApiClient(configuration, header_name="Authorization", header_value=f"Bearer {token}") as client:
        catalogs, schemas, tables = CatalogsApi(client), SchemasApi(client), TablesApi(client)
        functions, volumes = FunctionsApi(client), VolumesApi(client)
        first = await tables.list_tables("spark_catalog", "sales", max_results=2)
        second = await tables.list_tables("spark_catalog", "sales", page_token=first.next_page_token)
        people = await tables.get_table("spark_catalog.sales.people")
        plus = await functions.get_function("spark_catalog.sales.plus")
        files = await volumes.get_volume("spark_catalog.sales.files")
        try:
            hidden = (await tables.get_table("spark_catalog.secret.plans")).name
        except NotFoundException:
            hidden = None
        return {
            "catalogs": [each.name for each in (await catalogs.list_catalogs()).catalogs],
            "schemas": [each.name for each in (await schemas.list_schemas("spark_catalog")).schemas],
            "pages": [[each.name for each in page.tables] for page in (first, second)],
            "columns": [(one.name, one.type_name.value, one.type_text, one.partition_index) for one in people.columns],
            "table": (people.table_type.value, people.data_source_format.value, people.comment),
            "function": (plus.full_data_type, [(p.name, p.type_text) for p in plus.input_params.parameters]),
            "functions": [each.name for each in (await functions.list_functions("spark_catalog", "sales")).functions],
            "volume": (files.volume_type.value, files.comment),
            "hidden": hidden,
        }


print(json.dumps(asyncio.run(browse(*sys.argv[1:]))))
