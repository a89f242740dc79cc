"""Plans of statements that define tables, views and schemas."""
