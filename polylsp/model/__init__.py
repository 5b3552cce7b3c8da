"""Model of a loop nest, independent of language and of LSP."""
