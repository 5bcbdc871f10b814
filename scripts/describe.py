"""The command of one job; its definition is in src/causaldq/pipeline/jobs/describe.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import describe

if __name__ == "__main__":
    command.main(describe)
