"""The command of one job; its definition is in src/causaldq/pipeline/jobs/train_equivariant.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import train_equivariant

if __name__ == "__main__":
    command.main(train_equivariant)
