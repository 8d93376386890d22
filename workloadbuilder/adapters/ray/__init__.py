"""KubeRay (ray.io).

raycluster   RayCluster: the head and the groups of workers
rayjob       RayJob: its RayCluster, and the Job that submits
rayservice   RayService: its RayCluster
"""
