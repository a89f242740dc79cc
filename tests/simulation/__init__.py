"""A simulation of many gateways over one object store: `python -m tests.simulation` writes the tables of the page."""
