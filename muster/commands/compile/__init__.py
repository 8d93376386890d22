"""``muster compile``: controllers' objects become the Workloads, groups and pods that the scheduler sees.

command       options and exit status
sources       paths to the objects that are compiled, each with its place in its file
compilation   all objects of a call compiled
json_output, yaml_output, report   how the result is written
"""
