"""The command of one job; its definition is in src/causaldq/pipeline/jobs/aggregate.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import aggregate

if __name__ == "__main__":
    command.main(aggregate)
