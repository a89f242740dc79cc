"""The console: a browser page over the HTTP interface.

Imports nothing: `src/` is its TypeScript source, `dist/` is served. Start at `src/main.tsx`.
"""
