"""The command of one job; its definition is in src/causaldq/pipeline/jobs/front_page.py."""

from causaldq.pipeline import command
from causaldq.pipeline.jobs import front_page

if __name__ == "__main__":
    command.main(front_page)
