"""HiveServer2 Thrift: IDL, generated stubs, service, SASL, transports and row-set encoding."""
