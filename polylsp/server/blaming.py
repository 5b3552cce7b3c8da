"""Whose fault it is when the worker falls over, and what those who wait for it are told."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from polylsp.server.job import Job, Question
from polylsp.server.supervisor import Loss, Supervisor

if TYPE_CHECKING:
    from polylsp.model.action import Answer

logger = logging.getLogger(__name__)


def blame_analysis(worker: Supervisor, job: Job, loss: Loss) -> None:
    """Blame the function that an analysis was at; where it was at none, or was rid of it already, the
    worker itself."""
    if job.function is not None and worker.blame.function(job.function[0], second_chance=loss.killed):
        logger.warning("%s: the analysis of %s %s.", job.document.path, job.function[1], loss.reason)
    elif worker.strike(f"{loss.reason} on {job.document.path}", loss.words):
        job.document.stop()


def may_be_asked_again(worker: Supervisor, question: Question, loss: Loss) -> bool:
    """Blame the question, and answer it, unless its worker never began or was killed for the first time."""
    if not worker.is_ready:
        worker.strike("could not be started", loss.words)
        return True
    worker.blame.function(question.key, second_chance=loss.killed)
    if question.key not in worker.blame.given_up:
        return True
    logger.warning("%s: working out `%s` %s.", question.document.path, question.ask.action, loss.reason)
    question.answer(declined(loss.reason))
    return False


def declined(what: str) -> Answer:
    """There is no edit because of what the analysis process did."""
    # Imported here: the model need not be loaded before the editor has its `initialize` answered.
    from polylsp.model.action import Declined

    return Declined(f"There is no edit: the analysis process {what}.")
