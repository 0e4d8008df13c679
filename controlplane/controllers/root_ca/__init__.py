"""The ConfigMap ``kube-root-ca.crt`` of every namespace."""

from controlplane.controllers.root_ca.controller import DESCRIPTOR

__all__ = ["DESCRIPTOR"]
