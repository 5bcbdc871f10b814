"""The command of one job; its definition is in src/causaldq/pipeline/jobs/faults.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import faults

if __name__ == "__main__":
    command.main(faults)
