"""Adam and RMSprop for small networks: all parameters of a network are one vector, so that a step is a few operations.

`torch.optim` does the same arithmetic tensor by tensor, with the same results to the last bit; on networks like
those of RSGG-CE its overhead is a tenth of the training, and importing what it imports takes seconds.
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

ALIGNMENT = 16  # numbers: each parameter begins at a multiple of 64 bytes, as tensors of their own do
BETAS, SMALLEST_DEVIATION = (0.9, 0.999), 1e-8  # torch's (and the paper's) β₁ and β₂ of Adam, ε
SQUARE_DECAY = 0.99  # torch's α of RMSprop


def as_one_vector(network: nn.Module) -> Tensor:
    """Move the network's parameters into one vector, of which they are parts from then on; returns the vector."""
    parameters = list(network.parameters())
    vector = parameters[0].new_zeros(_starts(parameters)[-1], requires_grad=False)
    for parameter, part in zip(parameters, _parts(vector, parameters), strict=True):
        part.copy_(parameter.data)
        parameter.data = part
    return vector


def _starts(parameters: list[nn.Parameter]) -> list[int]:
    """Where each of them begins in the vector, and where the last one ends."""
    room = (-(-parameter.numel() // ALIGNMENT) * ALIGNMENT for parameter in parameters)
    return [0, *itertools.accumulate(room)]


def _parts(vector: Tensor, parameters: list[nn.Parameter]) -> list[Tensor]:
    """Views of the parameters' shapes, in the order that they have in memory: convolutions may want channels last."""
    starts = _starts(parameters)[:-1]
    return [vector.as_strided(p.shape, p.stride(), a) for a, p in zip(starts, parameters, strict=True)]


class _Optimiser:
    """The parameters and their gradients as vectors, the moving average of the squared gradient, and some room."""

    def __init__(self, network: nn.Module, lr: float) -> None:
        self.lr = lr
        self.vector, self.parameters = as_one_vector(network), list(network.parameters())
        self.gradient, self.square, self.room = (torch.zeros_like(self.vector) for _ in range(3))
        self.gradients = _parts(self.gradient, self.parameters)

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def _read_gradients(self) -> None:
        for own, parameter in zip(self.gradients, self.parameters, strict=True):
            if parameter.grad is not None:
                own.copy_(parameter.grad)


class RMSprop(_Optimiser):
    """Hinton (2012), as torch has it: w ← w - lr · g / (√v + ε), with v a moving average of the squared gradient."""

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients that the parameters have; one without a gradient has the gradient 0."""
        self._read_gradients()
        self.square.mul_(SQUARE_DECAY).addcmul_(self.gradient, self.gradient, value=1 - SQUARE_DECAY)
        deviation = torch.sqrt(self.square, out=self.room).add_(SMALLEST_DEVIATION)
        self.vector.addcdiv_(self.gradient, deviation, value=-self.lr)


class Adam(_Optimiser):
    """Kingma & Ba (2015): w ← w - lr · m̂ / (√v̂ + ε), with m and v moving averages of the gradient and its square."""

    def __init__(
        self, network: nn.Module, lr: float, betas: tuple[float, float] = BETAS, weight_decay: float = 0.0
    ) -> None:
        super().__init__(network, lr)
        self.betas, self.weight_decay, self.steps = betas, weight_decay, 0
        self.mean = torch.zeros_like(self.vector)

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients that the parameters have; one without a gradient has the gradient 0."""
        self._read_gradients()
        self.steps += 1
        first, second = self.betas
        gradient = self.gradient
        if self.weight_decay:
            gradient = torch.add(gradient, self.vector, alpha=self.weight_decay, out=self.room)
        self.mean.lerp_(gradient, 1 - first)
        self.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        deviation = (
            torch.sqrt(self.square, out=self.room).div_((1 - second**self.steps) ** 0.5).add_(SMALLEST_DEVIATION)
        )
        self.vector.addcdiv_(self.mean, deviation, value=-self.lr / (1 - first**self.steps))
