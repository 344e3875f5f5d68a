"""Defenses of others, from their papers, behind one interface; to be measured beside ours.

A peer changes how models are trained, or what is released, or both. What it changes in training
holds for the target and every shadow alike: the attacker knows it. Nothing here is served.
"""

from __future__ import annotations

from dynaserve.mia.peers.peer import PEERS, TRAINING_CHOICES, Peer

__all__ = ["PEERS", "TRAINING_CHOICES", "Peer"]
