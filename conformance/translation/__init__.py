"""Translation of cases, and of layers of a framework, to programs."""
