"""nn-conformance: do the neural-network frameworks agree on their window operators?"""

__version__ = "0.1.0"
