"""The paper's experiments: every published number beside ours, every table, every figure."""
