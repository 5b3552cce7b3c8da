"""Analysis results as plain values that cross processes, independent of isl and LSP."""
