"""The command of one job; its definition is in src/causaldq/pipeline/jobs/train.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import train

if __name__ == "__main__":
    command.main(train)
