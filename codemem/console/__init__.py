"""The web control plane: pages for people over the same domain calls that agents' tools make."""
