"""The nightly workflow, and the slow surfaces of which it runs every case of level standard."""

import yaml

from tests import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "conformance.yml").read_text("utf-8"))


def nightly_slow_surfaces():
    """Return the backend of each surface that the nightly workflow runs with `--slow`."""
    jobs = WORKFLOW["jobs"]["slow-surfaces"]["strategy"]["matrix"]["include"]
    return {"tinygrad.Tensor": "tinygrad", **{job["surface"]: job["backend"] for job in jobs}}
