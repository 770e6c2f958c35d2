"""The paper's figures: one module each. What is drawn is computed first."""
