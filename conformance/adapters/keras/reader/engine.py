"""Keras with an engine that is installed. The engine is chosen before Keras is imported."""

import importlib.util
import os

ENGINES = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}
"""The engines of Keras and their packages, in the order in which an installed one is chosen."""
if "KERAS_BACKEND" not in os.environ:
    installed = [name for name, package in ENGINES.items() if importlib.util.find_spec(package)]
    os.environ["KERAS_BACKEND"] = (installed or ["tensorflow"])[0]

import keras  # noqa: E402 - the engine is chosen first
from keras.src import backend as engine  # noqa: E402 - the engine is chosen first

__all__ = ["engine", "keras"]
