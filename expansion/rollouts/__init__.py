"""Updates of running objects as their controllers make them: pods are deleted and created in steps, and each step waits for the one before.

play        the steps of an update, with what a scheduler places, until it is finished or hangs
running     the objects at PATH that replace running ones, with their old and new pods
situations  their units before the update, and what the controller does before it
strategies  what each kind of controller deletes and creates next
units       pods, or groups of pods, that are replaced one for one
"""
