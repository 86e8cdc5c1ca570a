"""The agent tools, a module by topic; importing this package fills the registry."""
