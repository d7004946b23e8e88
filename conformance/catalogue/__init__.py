"""The catalogue of all cases: YAML files, sweeps, the lock, checks and exports."""
