"""The command of one job; its definition is in src/causaldq/pipeline/jobs/name_causes.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import name_causes

if __name__ == "__main__":
    command.main(name_causes)
