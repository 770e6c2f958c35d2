"""The paper: its data, the methods it compares with, and `aspca reproduce`, its experiments with both numbers."""
