"""Small torch modules; TorchScript needs their source in a file."""

from __future__ import annotations

import torch


class Linear(torch.nn.Module):
    def __init__(self, softmax: bool = False, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3, dtype=dtype)
        # Drawn weights may give nothing but values between 0 and 1, which are no logits.
        torch.nn.init.eye_(self.linear.weight)
        self.softmax = softmax

    def forward(self, x):
        y = self.linear(x)
        return torch.softmax(y, 1) if self.softmax else y


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.linear = torch.nn.Linear(4 * 36, 10)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        x = x.reshape(x.shape[0], 1, 8, 8) * self.scale + torch.tensor([2.0])
        x = torch.relu(self.norm(self.conv(x)))
        x = torch.nn.functional.dropout(x, 0.5, self.training)
        return self.linear(x.flatten(1))


class Pair(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Both(torch.nn.Module):
    def forward(self, x):
        return {"logits": x, "extra": x}


class FromFile(torch.nn.Module):
    def forward(self, x):
        return x + torch.from_file("touched", True, 4)


class Saving(torch.nn.Module):
    def forward(self, x):
        torch.ops.aten.save(x, "touched")
        return x


class Quantized(torch.nn.Module):
    def forward(self, x):
        return torch.ops.quantized.relu6(x)
