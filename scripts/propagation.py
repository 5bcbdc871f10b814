"""The command of one job; its definition is in src/causaldq/pipeline/jobs/propagation.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import propagation

if __name__ == "__main__":
    command.main(propagation)
