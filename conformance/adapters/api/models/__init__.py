"""The interface of what adapters know of whole models: weights, the syntax of classes, and hints on other layers."""
