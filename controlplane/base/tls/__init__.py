"""The server's own CA, certificates and kubeconfig, and the TLS context that follows its files."""
