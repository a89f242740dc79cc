"""Row filters, column masks, tags, and policies by tag."""
