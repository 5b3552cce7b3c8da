"""Language server: the only part of the program that knows LSP."""
