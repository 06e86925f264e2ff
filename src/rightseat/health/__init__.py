"""Checks of a server and of everything it depends on. `rightseat doctor` prints their findings; a face may serve them.

`checks.run_checks(context)` yields findings. Each group of checks is a module, and each check a function listed in
`checks.CHECKS`.

    finding        Finding, Outcome and Fix
    context        what the checks look at
    own_server     the same for the server of this process
    checks         the list of checks, and how they are run
    configuration  the problems of the file, and warnings about it
    versions       Python and rightseat
    address        the port, and the server that answers there
    storage        the state folder and the SQLite files
    services       PostgreSQL and Redis
    models         one word and one tool call of each model
    toolboxes      MCP servers, plugins and other toolboxes
    agents         agents of this server and of others
    faces          the handshake of a client with each face
    origins        which web pages may call
    clock          the clock of this machine against others
    local_models   models that this machine has already, for a first configuration
    starter_trial  one word and one tool call of the model of a first configuration
    readiness      `GET /ready`, for load balancers
    warnings       warnings about a valid configuration
    asgi           requests to an application in this process
"""
