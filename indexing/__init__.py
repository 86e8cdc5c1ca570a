"""What Git brings: a push becomes graph, a diff becomes a review."""

from indexing import native

native.use(native.folder())
