"""Spark Operator (sparkoperator.k8s.io).

sparkapplication   SparkApplication: driver and executors; ScheduledSparkApplication: the next application
spark_pods         pod template of the driver or the executors, as Spark and the operator's webhook make it
spark_resources    requests of a container, as Spark computes them
"""
