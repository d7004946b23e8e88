"""Local response normalization, shared by adapters."""
