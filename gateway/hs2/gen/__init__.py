"""Generated from `../TCLIService.thrift`; see README.md. Do not edit."""
