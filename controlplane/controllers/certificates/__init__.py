"""Certificate signing requests: approving, signing what was approved, removing what is done."""

from controlplane.controllers.certificates.approver import DESCRIPTOR as APPROVER
from controlplane.controllers.certificates.cleaner import DESCRIPTOR as CLEANER
from controlplane.controllers.certificates.signer import DESCRIPTOR as SIGNER

__all__ = ["APPROVER", "CLEANER", "SIGNER"]
