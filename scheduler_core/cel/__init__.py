"""Device selectors in the Common Expression Language, as k8s.io/dynamic-resource-allocation/cel; imports nothing else of ``scheduler_core``.

selector  a selector, compiled and evaluated
"""
