"""``muster compile``: Workloads, groups and pods created from the objects of controllers.

command        options and exit status
sources        the objects to compile, each with its position in its file
compilation    all objects of a call compiled
built_objects  what mode build of the sidecar creates
json_output, yaml_output, report   output formats
"""
