"""Updates of running objects as their controllers make them: pods are deleted and created in steps, and each step waits for the one before.

group_strategies  what the controllers of LeaderWorkerSets, PodCliqueSets and RayServices delete and create next
group_updates     their units before the update, and the strategy that an object declares
later             the next update of an object that does not run yet
play              the steps of an update, with what a scheduler places, until it is finished or hangs
running           the objects at PATH that replace running ones, with their old and new pods
situations        units of Deployments, StatefulSets and DaemonSets before the update, and what the controller does before it
strategies        what the controllers of Deployments, StatefulSets and DaemonSets delete and create next
units             pods, or groups of pods, that are replaced one for one
"""
