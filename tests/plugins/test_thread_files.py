"""What becomes of the files and charts of a step."""

import base64

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.plugins.results import Artifact, StepResult
from rightseat.plugins.thread_files import store_artifacts
from rightseat.stores.files import MemoryArtifacts

ANNA = Principal("anna")
ASK = Ask(messages=(user("Hi"),), principal=ANNA)


async def test_a_file_moves_from_the_result_to_the_artifact_store() -> None:
    store = MemoryArtifacts()
    made = Artifact("file", "a.txt", "text/plain", data=base64.b64encode(b"words").decode())

    result = await store_artifacts(store, ASK, StepResult("output", artifacts=(made,)))

    (kept,) = result.artifacts
    found = await store.get(kept.id, ANNA)
    assert (kept.data, kept.size, kept.name) == ("", 5, "a.txt")
    assert found is not None
    assert found.content == b"words"
    assert result.output == "output"


async def test_a_chart_keeps_its_option_in_the_result_and_in_the_store() -> None:
    store = MemoryArtifacts()
    made = Artifact("chart", "Revenue", "application/vnd.echarts+json", option={"series": []})

    (kept,) = (await store_artifacts(store, ASK, StepResult(artifacts=(made,)))).artifacts

    found = await store.get(kept.id, ANNA)
    assert kept.option == {"series": []}
    assert found is not None
    assert found.content == b'{"series":[]}'


async def test_a_result_without_artifacts_is_unchanged() -> None:
    result = StepResult("output")

    assert await store_artifacts(MemoryArtifacts(), ASK, result) is result
