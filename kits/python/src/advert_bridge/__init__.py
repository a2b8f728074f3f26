"""Handles the events of Advert Bridge: types, parsing, and applying each advert's events only when they are newer."""

from .events import AdvertEvent, AuthorizationEvent, RefusedEventError, parse_body, parse_event
from .handler import event_handler
from .positions import AdvertBusyError, ClaimLostError, Comparison, DynamoDbPositions, compare_to_applied

__all__ = ["AdvertBusyError", "AdvertEvent", "AuthorizationEvent", "ClaimLostError", "Comparison", "DynamoDbPositions"]
__all__ += ["RefusedEventError", "compare_to_applied", "event_handler", "parse_body", "parse_event"]
