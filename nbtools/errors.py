"""What can go wrong, as one tree.

    NbtoolsError
    ├── ProviderError              a model, or the way to it, failed
    │   ├── ConnectionError        no answer: refused, no such host, timed out
    │   ├── AuthenticationError    the key is missing or refused (401, 403)
    │   ├── RateLimitError         too many requests (429); `wait` says how long
    │   ├── OverloadedError        the server is not able to answer now (5xx, 529)
    │   ├── NotFoundError          no such model or address (404)
    │   ├── ContextLengthError     the conversation is too long for the model
    │   ├── ContentFilterError     the provider withheld the answer
    │   ├── WithheldError          the request holds values of protected columns
    │   ├── BadRequestError        the server refused the request (other 4xx)
    │   ├── StreamError            the answer broke off or could not be read
    │   └── ToolsetError           tools that the request would name cannot be had
    ├── ToolError                  a tool says, in its own words, why it has no result
    ├── ToolDefinitionError        a tool cannot be described to a model
    ├── InvalidArguments           arguments do not fit the tool's schema
    ├── ChatBusy                   the chat is answering; wait, or stop it first
    ├── ChatWaiting                calls are open; decide or answer them first
    ├── AlreadyDecided             the call is past the point where this could be said
    ├── IllegalMove                an event does not fit the conversation
    └── CommandError               a command from the page is not acceptable

What the world does wrong is also shown in the chat; what the program does wrong raises.
No text here ever holds a key, a header, or the query of an address.
"""

from __future__ import annotations

_CLOSED = (".", "!", "?", "…")


def sentences(*texts: str) -> str:
    """Join texts so that they read as sentences, whether or not a full stop ends each.

    Args:
        texts: What a server said, and what we add; a single text stays as it is.

    Returns:
        One text; each part of it is closed where another follows or went before.
    """
    said = [each for text in texts if (each := text.strip())]
    if len(said) < 2:
        return "".join(said)
    return " ".join(each if _is_closed(each) else f"{each}." for each in said)


def _is_closed(text: str) -> bool:
    return text.rstrip("\"'”»)]}").endswith(_CLOSED)


class NbtoolsError(Exception):
    """The root of every error that nbtools raises on purpose."""


class ProviderError(NbtoolsError):
    """A model, or the way to it, failed.

    Args:
        text: What happened, with the provider's own message.
        status: HTTP status, where there was one.
        kind: The provider's own word for the kind of error.
        hint: What to do about it, in one plain sentence.
        wait: Seconds that the server asked to wait.
    """

    retryable = False

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        kind: str = "",
        hint: str = "",
        wait: float | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.kind = kind
        self.hint = hint
        self.wait = wait

    def __str__(self) -> str:
        return sentences(self.text, self.hint)


class ConnectionError(ProviderError):  # noqa: A001 - the field's own word, always used qualified
    """No answer came: refused, no such host, or timed out."""

    retryable = True


class AuthenticationError(ProviderError):
    """The key is missing or was refused."""


class RateLimitError(ProviderError):
    """Too many requests; `wait` says how long to hold off, in seconds, where the server said."""

    retryable = True


class OverloadedError(ProviderError):
    """The server cannot answer now."""

    retryable = True


class NotFoundError(ProviderError):
    """No such model, or no such address."""


class ContextLengthError(ProviderError):
    """The conversation is longer than the model takes."""


class ContentFilterError(ProviderError):
    """The provider withheld the question or the answer."""


class WithheldError(ProviderError):
    """The request was not sent: it holds values of protected columns, and a person has to decide."""


class BadRequestError(ProviderError):
    """The server refused the request as it stands."""


class StreamError(ProviderError):
    """The answer broke off, or could not be read."""

    retryable = True


class ToolsetError(ProviderError):
    """Tools from elsewhere cannot be had, so that the model was not asked.

    Args:
        text: Why.
        hint: What to do about it.
        told: The words for the model, where they are fewer.
    """

    retryable = True

    def __init__(self, text: str, *, hint: str = "", told: str = "") -> None:
        super().__init__(text, hint=hint)
        self.told = told or str(self)


class ToolError(NbtoolsError):
    """Raised by a tool: the text goes to the model verbatim.

    Args:
        text: Why there is no result.
        retryable: Whether the model is told that the same call may work later (True), or that it
            must not be repeated (False); None says nothing of it.
    """

    def __init__(self, text: str = "", *, retryable: bool | None = None) -> None:
        super().__init__(text)
        self.retryable = retryable


class ToolDefinitionError(NbtoolsError):
    """A tool cannot be described to a model; the text names the tool and the parameter."""


class InvalidArguments(NbtoolsError):  # noqa: N818 - a sentence about the call, as the outcome is
    """Arguments do not fit the schema of their tool.

    Args:
        text: What is missing, unknown, mistyped, and what would be accepted.
        field: The first argument that is wrong, "" if it is the whole.
        told: What the model is told, "" if it is the text.
    """

    def __init__(self, text: str, *, field: str = "", told: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.field = field
        self.told = told


class ChatBusy(NbtoolsError):  # noqa: N818 - reads as the state it reports
    """The chat is answering: await it, or stop it first."""


class ChatWaiting(NbtoolsError):  # noqa: N818 - reads as the state it reports
    """Calls are open: decide, answer or cancel them first."""


class AlreadyDecided(NbtoolsError):  # noqa: N818 - reads as the state it reports
    """The call was decided, or ended, before this came."""


class IllegalMove(NbtoolsError):  # noqa: N818 - the reducer's own word
    """An event does not fit the conversation it was applied to."""


class CommandError(NbtoolsError):
    """A command from the page is not acceptable.

    Args:
        text: What was wrong and what is expected, for the person who clicked.
        error: One word for the kind: "invalid", "foreign", "late", "busy" …
        field: The field of the form that it is about, if any.
    """

    def __init__(self, text: str, *, error: str = "invalid", field: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.error = error
        self.field = field
