"""Tools that an agent gets from OpenBB Workspace: widgets, dashboards, skills and MCP servers."""
