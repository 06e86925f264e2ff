"""All targets, by name."""

from tests.fuzz import bodies, formats, plugins, schemas, sql, templates, upstream
from tests.fuzz.engine import Target

FAMILIES = (bodies, upstream, plugins, sql, templates, schemas, formats)
TARGETS: dict[str, Target] = {target.name: target for family in FAMILIES for target in family.TARGETS}
