"""Which of the tools a request lets the model call, whatever the wire calls that."""

from __future__ import annotations

from nbtools.messages import Request
from nbtools.providers.naming import model_calls
from nbtools.settings import Settings

WORDS = frozenset({"auto", "none", "required"})


def tool_choice(request: Request, settings: Settings) -> str:
    """Decide whether tools may or must be called.

    Args:
        request: The question.
        settings: What holds for it.

    Returns:
        "auto", "none", "required", or the name of the one tool to call. The last two hold until
        the model has called: with results at the end of the history it may go on as it likes, for
        else it could never answer.

    Raises:
        ValueError: The settings name a tool that the request does not have.
    """
    choice = settings.tool_choice or "auto"
    if not request.tools and not (settings.extra or {}).get("tools"):
        return "auto"
    if request.choice == "none" or not request.tools:
        return request.choice
    names = [tool.name for tool in request.tools]
    if choice not in WORDS and choice not in names:
        expected = ", ".join(map(repr, (*sorted(WORDS), *names)))
        raise ValueError(f"tool_choice is {choice!r}; expected one of {expected}.")
    answered = any(model_calls(message) for message in request.messages[-1:])
    return "auto" if answered and choice != "none" else choice
