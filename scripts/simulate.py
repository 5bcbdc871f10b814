"""The command of one job; its definition is in src/causaldq/pipeline/jobs/simulate.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import simulate

if __name__ == "__main__":
    command.main(simulate)
