"""Changes that the API server makes to an object before validation: defaults, and dropped fields.

drop  fields whose feature gate is off
fill  defaults of absent fields
"""
