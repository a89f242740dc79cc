"""What governs an Iceberg table: columns, partitioning, order and properties, and how statements change them."""
