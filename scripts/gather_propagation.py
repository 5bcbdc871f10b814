"""The command of one job; its definition is in src/causaldq/pipeline/jobs/gather_propagation.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import gather_propagation

if __name__ == "__main__":
    command.main(gather_propagation)
