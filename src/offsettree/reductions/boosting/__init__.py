"""The engine of `RewardBoosting`: trees that all actions share, boosted on the one reward that each row has."""
