"""Benchmarks behind the figures of ``docs/benchmarks.md``; each measures a peer or a lower bound in the same run.

``make bench`` runs all; ``python -m benchmarks.bench_pipeline`` runs one.  Times differ between machines, so benchmarks compare
ratios of alternating measurements.
"""
