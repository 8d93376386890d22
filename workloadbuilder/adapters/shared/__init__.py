"""What adapters have in common.

adapter_result     what an adapter makes of an object: items, pods, what is wrong or lost
fields             fields of an object from outside, each taken by its type
object_identity    kind, name and owner of an object
known_objects      objects that adapters look up by name
pod_template       pods as controllers make them of a template
job_spec           a Job's spec
kueue_annotations  Kueue's annotations as topology constraints
"""
