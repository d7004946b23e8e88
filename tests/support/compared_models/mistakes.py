"""Weights of net_torch.py with a mistake, as PyTorch has them."""

import numpy as np

NAME = "grouped.weight"


def reversed_groups(weights):
    """Return the weights with the four groups of a convolution in the opposite order."""
    return {**weights, NAME: np.concatenate(np.split(weights[NAME], 4)[::-1])}


def not_transposed(weights):
    """Return the weights for which a transposed kernel has the numbers of the source in their order."""
    out, channels, *window = weights[NAME].shape
    return {**weights, NAME: np.moveaxis(weights[NAME].reshape(*window, channels, out), (-1, -2), (0, 1))}
