"""Grey-scale morphology: extremes of windows to which a kernel is added."""
