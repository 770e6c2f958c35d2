"""The paper's tables, and what its text says in numbers and in words."""
