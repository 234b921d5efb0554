"""Is a device there? Said once before anything is computed, not by every cell."""

from __future__ import annotations

import reprlib

import torch

from rsgg.errors import UsageError


def check_device(device: str) -> None:
    """Raise if nothing can be computed on this device."""
    try:
        kind = torch.device(device)
        if kind.type == "cuda" and (kind.index or 0) >= torch.cuda.device_count():
            raise UsageError(f"There is no {device} on this machine; leave --device out to compute on the CPU.")
        torch.empty(0, device=kind)
    except UsageError:
        raise
    except Exception as error:  # which one depends on the device and on how torch was built
        named = reprlib.repr(device)
        raise UsageError(f"The device {named} cannot be used here; leave --device out to use the CPU.") from error
