"""Serving certificate of the webhooks: creation and inspection of a CA and a leaf, and their files.

controller              certificate of one replica
forwarded_replicas      connections to replicas through the API server, for commands outside the cluster's network
inspection              contents of certificate and key files, and reasons why a leaf is due for renewal
issue                   creation of a CA and a leaf: ECDSA on P-256, host names as subject alternative names only
pair                    key pairs: host names, and the PEM texts that belong together
pem_bundle              bundles of CA certificates: PEM texts of several certificates
replica_files           key pair of the Secret as files for the processes of one replica, and the trust of the API server in it
replicas                leaves that replicas serve, observed by TLS handshakes
rotation_run            one rotation on a live cluster, from the state in which it is to its end
rotation_steps          rotation of CA and leaf as a state machine: the next step, and the changes that it makes
store                   key pairs in a directory: ``ca.crt``, ``tls.crt``, ``tls.key``, and ``ca.key`` if the CA's key is kept
webhook_configurations  Secret, webhook configurations and replicas on a live cluster
"""

__all__ = ["CA_DAYS", "LEAF_DAYS"]

CA_DAYS = 3650
LEAF_DAYS = 365
"""Default lifetimes of a certificate authority and of a serving certificate."""
