"""Source text to the language-neutral program."""
