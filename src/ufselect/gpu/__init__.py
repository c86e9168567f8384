"""FSASL where the data are tensors: everything with n rows stays on the device, small matrices are NumPy arrays.

It needs PyTorch, which is imported by these modules only. On a GPU, neighbours are found by a Triton kernel; everything
else also runs on PyTorch's CPU device.
"""
