"""Handles the events of Advert Bridge: types, parsing, and applying each advert's events only when they are newer."""

from .events import AdvertEvent, AdvertStatusChanged, AdvertUnavailable, AuthorizationEvent
from .events import RefusedEventError, parse_body, parse_event
from .handler import BatchFailedError, advert_event_handler
from .positions import AdvertBusyError, ClaimLostError, Comparison, DynamoDbPositions, Positions
from .positions import compare_to_applied

__all__ = ["AdvertBusyError", "AdvertEvent", "AdvertStatusChanged", "AdvertUnavailable", "AuthorizationEvent"]
__all__ += ["BatchFailedError", "ClaimLostError", "Comparison", "DynamoDbPositions", "Positions"]
__all__ += ["RefusedEventError", "advert_event_handler", "compare_to_applied", "parse_body", "parse_event"]
