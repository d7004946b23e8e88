"""The window operators and their gradients."""
