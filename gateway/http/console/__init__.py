"""The console: a page for browsers over the HTTP interface.

Imports nothing: `src/` is its source in TypeScript, `dist/` is served. Start at `src/main.tsx`.
"""
