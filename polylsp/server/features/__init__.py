"""Request handlers of the language server, one module for each group of requests."""
