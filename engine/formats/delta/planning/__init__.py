"""Statements that only Delta has, planned: what the planner of every format asks through `engine.formats.planning`."""
