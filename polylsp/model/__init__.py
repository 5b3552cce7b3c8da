"""What a loop nest means, free of language and of LSP."""
