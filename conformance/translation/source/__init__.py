"""Read the source text of a model without running it, and write its layers for other surfaces."""
