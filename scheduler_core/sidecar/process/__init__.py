"""The sidecar as a process; imports all the other layers.

main                 the parts joined, started and stopped
enabled_controllers  the controllers that the modes ask for
mailbox              what is told to the loop by watches, writers and the lease
loop                 the thread that keeps the cache and decides
http                 probes, metrics, and why a root is where it is
metrics              Prometheus metrics
write_failures       which failed writes are told in the log, and how often
"""
