"""Types of models by name."""

from lm_eval.models import api_models


def get_model(name: str) -> type:
    """The class of a type."""
    return api_models.TYPES[name]
