"""TrainJob (trainer.kubeflow.org).

trainjob        the adapter
runtime_jobset  the JobSet that Trainer creates from a TrainJob and its runtime
"""
