"""Client of the API server: address and credentials, requests, list and watch, leader election by Lease.

It knows no kinds and no rules: callers pass paths and decode the bytes.

api        requests to the API server; a response is read whole, or as a stream of lines
connect    connection to the API server that a kubeconfig or a pod's service account describes
connection  connection to an API server: its address, trust, proxy and credentials
exchange   requests over kept connections without urllib3, for clients that write often
credentials  credentials of a caller: a token, a file with one, a client certificate, a credential plugin
kubeconfig  kubeconfigs, read and merged as kubectl does
discovery  discovery: which resources the API server has, and under which path
election   leader election: who holds a Lease, as values
feature_gates  feature gates of the API server, from its metrics
pages      lists that are read in pages
port_forward  requests to a port of a pod on its loopback address
regular_files  reading of small files that others replace while the process runs
lease      thread that acquires and renews a Lease; callers check ``leading`` before every write
watch      list and watch of one resource, with resumption and backoff; catching up with the server's current version
"""
