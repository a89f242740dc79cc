"""A table at one version: log replay, live files, statistics, deletion vectors, history."""
