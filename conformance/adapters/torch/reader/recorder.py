"""Records the calls with windows in one call of a module."""

from torch.overrides import TorchFunctionMode

from .calls import ALIASES, SIGNATURES, UNREAD, operator_of, record
from .others import FUNCTIONS, function_settings, settings_of

WINDOW_LAYERS = ("Conv", "MaxPool", "AvgPool", "LPPool", "Adaptive", "ZeroPad", "ConstantPad", "ReflectionPad",
                 "ReplicationPad", "CircularPad", "Fractional", "MaxUnpool", "Identity")  # fmt: skip


def _kind(module):
    """Return the name of the class of PyTorch from which a layer of another package is derived, or its own name."""
    classes = (one.__name__ for one in type(module).__mro__ if one.__module__.startswith("torch.nn.modules."))
    name = next(classes, "Module")
    return type(module).__name__ if name == "Module" else name


class Recorder(TorchFunctionMode):
    """Records the calls of functions with windows, with the path of the module that makes them."""

    def __init__(self, module, model):
        super().__init__()
        self.model, self.stack = model, [""]
        self.described = set()  # paths of layers with settings, whose calls of functions have the same
        self.classes = {path: type(one).__name__ for path, one in module.named_modules()}
        for path, one in module.named_modules():
            one.register_forward_pre_hook(lambda _module, _inputs, path=path: self.stack.append(path))
            one.register_forward_hook(lambda _module, _inputs, _output: self.stack.pop() and None, always_call=True)
            kind = _kind(one)
            settings = settings_of(one, kind)
            is_layer = not list(one.children()) or (settings and kind != type(one).__name__)
            if is_layer and not kind.startswith(WINDOW_LAYERS):
                model.add_other(kind, **settings)
                self.described |= {path} if settings else set()

    def __torch_function__(self, function, _types, args=(), kwargs=None):
        """Record a call and make it."""
        name = getattr(function, "__name__", "")
        if operator_of(name) in SIGNATURES or operator_of(name) in UNREAD or operator_of(name) in ALIASES:
            path = self.stack[-1]
            record(self.model, path or name, name, args, kwargs or {}, lambda value: value, self.classes.get(path, ""))
        elif name in FUNCTIONS and self.stack[-1] not in self.described:
            self.model.add_other(name, **function_settings(name, args, kwargs or {}))
        return function(*args, **(kwargs or {}))
