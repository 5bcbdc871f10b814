"""The command of one job; its definition is in src/causaldq/pipeline/jobs/policy.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import policy

if __name__ == "__main__":
    command.main(policy)
