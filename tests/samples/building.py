"""Compilation and runs of the samples in C."""

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FILLED = {"ASAN_OPTIONS": "malloc_fill_byte=255:max_malloc_fill_size=1000000"}
"""Fresh memory is all ones, a NaN in floating point: reading it unwritten spoils the checksum."""
