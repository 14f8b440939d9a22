"""What a page is told of a chat besides its conversation: model, tools, rules, renderers, choices."""

from __future__ import annotations

from typing import Any

from nbtools.choosing import Choosing
from nbtools.renderers import Registry
from nbtools.session import Session


def describe(session: Session, registry: Registry, choosing: Choosing) -> dict[str, Any]:
    """Give the fields of a snapshot that are not the conversation (`docs/wire.md`).

    Args:
        session: The conversation.
        registry: What draws its calls.
        choosing: The models that it offers while it is empty.
    """
    provider, tools = session.settings.provider, session.settings.tools
    return {
        "model": {"label": provider.label, "host": provider.host, "demo": provider.demo},
        "renderers": registry.describe(),
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in tools.values()
        ],
        "rules": session.rules.describe(),
        **({} if (offered := choosing.offered) is None else {"choices": offered}),
    }
