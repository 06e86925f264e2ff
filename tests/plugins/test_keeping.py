"""What becomes of the files and charts of a step."""

import base64

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.plugins.keeping import keep
from rightseat.plugins.results import Artifact, Result
from rightseat.stores.files import MemoryArtifacts

ANNA = Principal("anna")
ASK = Ask(messages=(user("Hi"),), principal=ANNA)


async def test_a_file_is_in_the_store_and_no_longer_in_the_result() -> None:
    store = MemoryArtifacts()
    made = Artifact("file", "a.txt", "text/plain", data=base64.b64encode(b"words").decode())

    result = await keep(store, ASK, Result("output", artifacts=(made,)))

    (kept,) = result.artifacts
    found = await store.get(kept.id, ANNA)
    assert (kept.data, kept.size, kept.name) == ("", 5, "a.txt")
    assert found is not None
    assert found.content == b"words"
    assert result.output == "output"


async def test_a_chart_keeps_its_option_and_has_it_in_the_store_too() -> None:
    store = MemoryArtifacts()
    made = Artifact("chart", "Revenue", "application/vnd.echarts+json", option={"series": []})

    (kept,) = (await keep(store, ASK, Result(artifacts=(made,)))).artifacts

    found = await store.get(kept.id, ANNA)
    assert kept.option == {"series": []}
    assert found is not None
    assert found.content == b'{"series":[]}'


async def test_a_result_without_any_is_left_as_it_is() -> None:
    result = Result("output")

    assert await keep(MemoryArtifacts(), ASK, result) is result
