"""The 24 topics of the synthetic corpus, all wording invented for it.

Sentences hold nothing personal: whatever of that kind is found in a planted corpus is a canary.
"""

from __future__ import annotations

from dynaserve.canarybench.topics import home, life, money, technology
from dynaserve.canarybench.topics.topic import Topic

TOPICS = (*money.TOPICS, *technology.TOPICS, *home.TOPICS, *life.TOPICS)

__all__ = ["TOPICS", "Topic"]
