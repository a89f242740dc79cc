"""Logs, metrics, traces, history, and how failures are shown to clients."""
