"""API objects as the rules read them, as typed values with Python names; ``kubeapi`` has the structs.

controllers      pods that controllers create, by pod template
job_parts        Job of an object: a Job itself, or the one that a CronJob creates from its template
objects          kinds that rules validate or look up, by name, and their decoding
own_gangs        gangs that controllers make of all pods of one object
rolling_updates  rolling updates by their own numbers
slices           devices of a ResourceSlice, as the API server validates them
start_order      order in which controllers create the pods of one object
templates        flat lists of the templates of a Workload, or of the single shape of a group, shared by all rules
traits           traits of a tree of templates, computed in one pass over the templates
views            kinds of which rules read less than placement does
"""
