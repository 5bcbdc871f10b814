"""The command of one job; its definition is in src/causaldq/pipeline/jobs/prepare.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import prepare

if __name__ == "__main__":
    command.main(prepare)
