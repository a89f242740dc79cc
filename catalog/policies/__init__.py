"""Row filters, column masks, and tags."""
