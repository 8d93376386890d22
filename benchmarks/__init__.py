"""The figures of the README, each measured beside its peer or floor in one run.

``make bench`` runs all; ``python -m benchmarks.bench_pipeline`` runs one.  Times on one machine mean little on another:
what is compared are ratios, of rounds that take turns.
"""
