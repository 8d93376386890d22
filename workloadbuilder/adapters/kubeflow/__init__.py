"""Jobs of Kubeflow's training operator and MPI operator (kubeflow.org).

training_job   the adapter of all kinds
"""
