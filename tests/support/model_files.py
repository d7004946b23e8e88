"""Models that tests of readers build with the interpreter of a framework, and their layers as text."""

import os
import subprocess
import sys

from conformance.adapters import registry
from conformance.models.reading import ModelSource, read_model

SECONDS = 200.0


def build(python, body, folder):
    """Run a text in a folder with an interpreter; the text writes files."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    subprocess.run([python, "-c", body], check=True, cwd=folder, env=environment, capture_output=True)


def read(name, source, python="", **inputs):
    """Return the model that a reader finds in a file or reference; name: None to choose by the returned class."""
    reader = registry.model_readers()[name] if name else None
    return read_model(ModelSource(str(source), reader, python or sys.executable, inputs), SECONDS)


def texts(model):
    """Return each layer as text, or its problem."""
    return [one.problem or one.text for one in model.layers]


def parameters_of(model):
    """Return what a layer computes, in any order: the formats order and name layers differently."""
    return sorted(
        repr((one.operator, sorted(one.parameters.items()), one.shape, one.kernel, one.problem)) for one in model.layers
    )
