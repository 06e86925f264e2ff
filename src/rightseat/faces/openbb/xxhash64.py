"""xxHash64 in pure Python, for the short ids that the OpenBB SDK derives. A package would be too much for it."""

_1, _2, _3, _4, _5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_ALL = (1 << 64) - 1


def xxh64(data: bytes) -> int:
    size, place = len(data), 0
    if size >= 32:
        lanes = [(_1 + _2) & _ALL, _2, 0, -_1 & _ALL]
        while place <= size - 32:
            lanes = [_round(lane, _word(data, place + 8 * n)) for n, lane in enumerate(lanes)]
            place += 32
        found = sum(_turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _ALL
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * _1 + _4) & _ALL
    else:
        found = _5
    return _mixed(_tail((found + size) & _ALL, data, place))


def _tail(found: int, data: bytes, place: int) -> int:
    while place + 8 <= len(data):
        found = (_turn(found ^ _round(0, _word(data, place)), 27) * _1 + _4) & _ALL
        place += 8
    if place + 4 <= len(data):
        found = (_turn(found ^ int.from_bytes(data[place : place + 4], "little") * _1 & _ALL, 23) * _2 + _3) & _ALL
        place += 4
    for byte in data[place:]:
        found = _turn(found ^ byte * _5 & _ALL, 11) * _1 & _ALL
    return found


def _mixed(found: int) -> int:
    found = (found ^ found >> 33) * _2 & _ALL
    found = (found ^ found >> 29) * _3 & _ALL
    return found ^ found >> 32


def _word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 8], "little")


def _round(lane: int, word: int) -> int:
    return _turn((lane + word * _2) & _ALL, 31) * _1 & _ALL


def _turn(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _ALL
