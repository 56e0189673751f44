"""Energy terms that are families: their members one by one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import torch
from torch import Tensor

#: A family with more members is reported as their sum alone.
MOST_MEMBERS = 32


class Terms(dict[str, Tensor]):
    """Energy terms by name, [batch] each; the members of a family by theirs, ``att[0]``, whose sum is ``att``."""

    def __missing__(self, name: str) -> Tensor:
        members = [value for member, value in self.items() if member.startswith(f"{name}[")]
        if not members:
            raise KeyError(name)
        return torch.stack(members).sum(0)


def by_members(terms: Mapping[str, Tensor], families: Mapping[str, Tensor]) -> Terms:
    """Terms of which some are families, whose members are [batch, ...]."""
    found = Terms()
    for name, value in terms.items():
        members = families.get(name)
        if members is None or members.shape[1:].numel() > MOST_MEMBERS:
            found[name] = value
        else:
            flat = members.flatten(1).unbind(1)
            places = product(*(range(size) for size in members.shape[1:]))
            found |= {f"{name}[{','.join(map(str, at))}]": value for at, value in zip(places, flat)}
    return found
