"""PyTorch: operators on quantized tensors."""
