"""Catalogs and schemas."""
