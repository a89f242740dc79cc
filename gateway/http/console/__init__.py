"""The console: a page for browsers over the HTTP interface. `src/` is its source in TypeScript, `dist/` is served."""
