"""Windows, bins and blocks: which input cells each output cell reads."""
