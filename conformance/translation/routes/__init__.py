"""Programs of routes from a source framework to a runtime."""
