"""The command of one job; its definition is in src/causaldq/pipeline/jobs/provenance.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import provenance

if __name__ == "__main__":
    command.main(provenance)
