"""What `persistence` is made of: the archive, the models within it, how fitted policies become such models."""
