"""TrainJob (trainer.kubeflow.org).

trainjob        the adapter
runtime_jobset  the JobSet that a TrainJob and its runtime amount to
"""
