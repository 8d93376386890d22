"""API of Kubernetes as all packages know it; imports none of ours.

field_path  paths of fields in wire names
meta        object metadata, and the base class of API structs
quantity    quantities
record      base of values with named fields
versions    which version of the API server serves which kind, and conversion between versions
"""
