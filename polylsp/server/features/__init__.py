"""The request handlers: each converts, asks, converts back."""
