"""One module per answer that an editor or a terminal can ask for, as plain values."""
