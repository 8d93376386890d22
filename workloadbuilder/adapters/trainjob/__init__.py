"""TrainJob (trainer.kubeflow.org).

trainjob        the adapter
runtime_jobset  the JobSet that Trainer creates from a TrainJob and its runtime
runtime_patches  patches of a TrainJob for its runtime
"""
