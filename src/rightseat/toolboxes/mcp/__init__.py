"""A toolbox of the tools of an MCP server, over streamable HTTP or stdio."""

from rightseat.core.tools import Toolbox
from rightseat.parts import Parts
from rightseat.toolboxes.mcp.options import Options, build_requested, list_servers, name_server
from rightseat.toolboxes.mcp.pin_files import FilePins
from rightseat.toolboxes.mcp.pins import Pins
from rightseat.toolboxes.mcp.server import McpServer
from rightseat.toolboxes.mcp.toolbox import McpToolbox

__all__ = ["FilePins", "Options", "build", "list_servers"]


def build(options: Options, parts: Parts) -> Toolbox:
    pins = Pins(parts.pins or FilePins(options.pin_dir))
    main = McpServer(name_server(options), pins) if options.has_server else None
    others = {url: McpServer(build_requested(url, options), pins) for url in options.client_servers}
    return McpToolbox(main, others)
