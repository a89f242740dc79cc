"""The commands of `delta-gateway`."""
