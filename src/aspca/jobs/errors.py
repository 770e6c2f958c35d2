"""What a job says when it cannot be done: one sentence, for the person who asked."""

from __future__ import annotations


class JobError(ValueError):
    """One sentence: what is wrong, in which file, column or row, what is allowed, what to do."""


class RequestError(JobError):
    """The same, where what was asked for is at fault (an option, a name), not the data."""
