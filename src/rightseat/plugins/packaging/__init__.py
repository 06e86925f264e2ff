"""Plugin packages: scaffold, archive, installation and versions."""
