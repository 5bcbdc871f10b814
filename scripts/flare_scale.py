"""The command of one job; its definition is in src/causaldq/pipeline/jobs/flare_scale.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import flare_scale

if __name__ == "__main__":
    command.main(flare_scale)
