"""The HTTP status of each error of the core, by its code: of a failed run only the code is stored."""

from rightseat.core import errors

STATUSES_BY_CODE = {
    kind.code: kind.status
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.RightseatError)
}
