"""Checks of OpenMP and OpenACC directives: data races, data sharing, device data."""
