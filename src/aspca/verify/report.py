"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verification:
    """Truthy if every claim holds; otherwise `problems` says, in sentences, which do not."""

    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return "Verified: every claim of the certificate holds for this matrix."
        return "Not verified:\n" + "\n".join(f"  - {problem}" for problem in self.problems)
