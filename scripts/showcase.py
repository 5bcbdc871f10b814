"""The command of one job; its definition is in src/causaldq/pipeline/jobs/showcase.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import showcase

if __name__ == "__main__":
    command.main(showcase)
