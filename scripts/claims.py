"""The command of one job; its definition is in src/causaldq/pipeline/jobs/claims.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import claims

if __name__ == "__main__":
    command.main(claims)
