"""The command of one job; its definition is in src/causaldq/pipeline/jobs/calibrate.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import calibrate

if __name__ == "__main__":
    command.main(calibrate)
