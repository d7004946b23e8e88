"""One module a backend: the only place that speaks a framework's language. See conformance.adapter."""
