"""What language models were asked for, so that a day's budget is kept and every use is known."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import Namespace


class LanguageUse(models.Model):
    """The tokens that one model used for one purpose, of one namespace on one day (UTC)."""

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+")
    day = models.DateField()
    provider = models.CharField(max_length=20)
    model = models.CharField(max_length=100)
    purpose = models.CharField(max_length=40)  # with the version of its prompt: summarize-1
    calls = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    # What calls that are under way may use at most; taken back when they return.
    reserved_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                "namespace", "day", "provider", "model", "purpose", name="language_use_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.model}: {self.input_tokens + self.output_tokens} tokens"
