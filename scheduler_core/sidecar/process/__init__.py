"""The sidecar as a process; imports all other layers.

main                 creates, starts and stops all components
enabled_controllers  the controllers of the enabled modes
mailbox              messages of watches and writers to the loop
loop                 the thread that updates the cache and makes decisions
version_check        checks that the cache has every change up to a moment
http                 probes, metrics and /explain
left_over_claims     search for claims that an earlier process has left annotated
permissions          check of the permissions that the modes need
metrics              Prometheus metrics
write_failures       rate-limited logging of failed writes
"""
