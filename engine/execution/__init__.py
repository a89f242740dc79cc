"""Execute: a plan becomes a stream of rows, an answer, or a staged write."""
