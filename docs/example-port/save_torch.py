"""Save random weights of the PyTorch model, an input and the output: `save_torch.py FILE`."""

import sys

import numpy as np
import torch
from resnet18_torch import ResNet18

torch.manual_seed(0)
model = ResNet18().eval()
for name, array in model.named_buffers():
    # Statistics other than 0 and 1, so that an error in them changes the output.
    if name.endswith("running_mean"):
        array.uniform_(-0.1, 0.1)
    elif name.endswith("running_var"):
        array.uniform_(0.2, 0.6)
x = torch.randn(2, 3, 224, 224)
with torch.no_grad():
    y = model(x)
state = {f"weights/{name}": array.numpy() for name, array in model.state_dict().items()}
np.savez(sys.argv[1], x=x.numpy(), y=y.numpy(), **state)
print(f"{len(state)} arrays, output {list(y.shape)}, largest {y.abs().max():.3f}")
