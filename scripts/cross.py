"""The command of one job; its definition is in src/causaldq/pipeline/jobs/cross.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import cross

if __name__ == "__main__":
    command.main(cross)
