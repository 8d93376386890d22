"""Allocation of devices to the claims of a pod, as the structured allocator of Kubernetes 1.37.1; imports ``model``, ``cel``.

selection              selectors of classes and requests, evaluated for devices
tolerations            taints of devices and the requests that tolerate them
attribute_constraints  equal or different values of an attribute
consumable_capacity    capacity that a request consumes
shared_counters        counters that the devices of a pool share
chosen_devices         choices of the search so far
allocator              the search for one pod on one node
attributes_read        attributes that some selector or constraint reads
node_state             state of the devices of a node, equal for nodes with equal results
device_kinds           devices that are alike
interchangeable        rows that count interchangeable devices
counted_claims         devices for claims whose devices are counted
fresh_claims           claims of a pod to allocate on a node
evicted_users          devices that are free when all users of their claims are evicted
node_allocations       results of the search, by shape and state
missing_devices        reasons why a node has no devices
assumed_claims         claims of assumed pods
"""
