"""From an entity to a placement: generate, evaluate, score, place."""
