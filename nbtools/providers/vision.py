"""Which models take pictures, as far as their names say it.

A name that is not known here counts as that of a model that takes none: a picture too many is
refused, and one too few is told in words. `images=True` and `images=False` say it for certain.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SEEING = re.compile(
    r"""
      (\b|[a-z0-9.])(vlm?\d?|vision|multimodal|omni)\b  # as the makers of open models call it
    | llava | moondream | minicpm-v | molmo
    | gpt-4o | gpt-4\.[15] | gpt-4-turbo | gpt-[5-9] | \bo[134]\b
    | claude-(?!2|instant) | gemini | gemma-?[34]\b(?![:-](270m|1b))
    | llama-?4 | grok-[4-9] | glm-4(\.\d)?v | kimi-k2\.5
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Models of Mistral see, but their servers refuse what a user says right after a result.
_BLIND = re.compile(
    r"o[13]-(mini|preview) | gpt-[a-z0-9.-]*(audio|realtime|search|-turbo-preview) | embed"
    r"| m[a-z]*stral",
    re.IGNORECASE | re.VERBOSE,
)


@lru_cache(64)
def takes_pictures(model: str) -> bool:
    """Say whether a model is known by its name to take pictures.

    Args:
        model: Its name at any provider, such as "gpt-5.1" or "qwen2.5vl:7b".
    """
    return bool(_SEEING.search(model)) and not _BLIND.search(model)
