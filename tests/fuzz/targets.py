"""All targets, by name."""

from tests.fuzz import bodies, formats, guards, operators, plugins, schemas, sql, templates, upstream
from tests.fuzz.engine import Target

FAMILIES = (bodies, operators, upstream, plugins, sql, templates, schemas, guards, formats)
TARGETS: dict[str, Target] = {target.name: target for family in FAMILIES for target in family.TARGETS}
