"""All cases: YAML files, sweeps, the lock, checks and exports."""
