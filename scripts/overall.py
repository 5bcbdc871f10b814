"""The command of one job; its definition is in src/causaldq/pipeline/jobs/overall.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import overall

if __name__ == "__main__":
    command.main(overall)
