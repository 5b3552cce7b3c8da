"""Language-neutral program and its flow analyses: effects, liveness, must-execute, induction."""
