"""The command of one job; its definition is in src/causaldq/pipeline/jobs/discover.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import discover

if __name__ == "__main__":
    command.main(discover)
