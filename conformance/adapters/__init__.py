"""One package for each backend, the only code that depends on frameworks. `api` defines the interface."""
