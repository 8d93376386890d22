"""Nodes that the option ``--nodes`` describes in one line: ``32 x cpu=192,memory=2Ti,nvidia.com/gpu=8 in 4 racks``.

description_syntax  the grammar, and the options
machine_types       machines that a description can name, with the sources of their amounts
node_manifests      the Nodes, ResourceSlices and DeviceClasses of descriptions, and their file
"""
