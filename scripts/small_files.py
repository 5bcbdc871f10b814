"""The command of one job; its definition is in src/causaldq/pipeline/jobs/small_files.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import small_files

if __name__ == "__main__":
    command.main(small_files)
