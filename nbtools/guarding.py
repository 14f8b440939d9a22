"""A ring that looks through each request before it leaves the machine."""

from __future__ import annotations

from nbtools.executors import in_worker
from nbtools.messages import Request
from nbtools.ring import Ring


class Guarded(Ring):
    """Hold back a request that holds values of protected columns, until a person has decided."""

    async def _checked(self, question: Request) -> Request:
        question = await super()._checked(question)
        privacy, variables = self.settings.privacy, self.settings.variables
        if not privacy.policies:
            return question
        return await in_worker(lambda: privacy.let_through(question, variables.shared))
