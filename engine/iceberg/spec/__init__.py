"""Values of the Iceberg specification: table metadata, schemas, partition specs and transforms."""
