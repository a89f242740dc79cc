"""The relations of `information_schema` and `system`."""
