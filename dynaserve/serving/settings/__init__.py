"""What a serving process is told: value objects that survive the trip to worker processes."""

from dynaserve.serving.settings.anonymizer import (
    AnonymizationSettings,
    AnonymizerSettings,
    attribute_names,
)
from dynaserve.serving.settings.base import (
    CONFIG,
    Settings,
    SettingsError,
    base_of,
    flag,
    variable,
)
from dynaserve.serving.settings.classifier import ServeSettings
from dynaserve.serving.settings.server import ServiceSettings
from dynaserve.serving.settings.summaries import SummariesSettings

__all__ = [
    "CONFIG",
    "AnonymizationSettings",
    "AnonymizerSettings",
    "ServeSettings",
    "ServiceSettings",
    "Settings",
    "SettingsError",
    "SummariesSettings",
    "attribute_names",
    "base_of",
    "flag",
    "variable",
]
